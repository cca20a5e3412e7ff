"""The ground floor of the wire: targets, providers, models, lowered messages and verdicts.

Everything above imports it; it imports only the model.
"""
