"""Schema migrations and index evolution for Amazon DynamoDB."""
