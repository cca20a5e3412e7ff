"""The AWS Bedrock Converse API (wire-rules 5)."""
