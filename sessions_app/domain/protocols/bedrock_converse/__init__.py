"""The AWS Bedrock Converse API (docs/contract/wire.md#5)."""
