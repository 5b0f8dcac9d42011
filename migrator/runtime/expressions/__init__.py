"""DynamoDB's expressions, read and evaluated: what an update would make of an item, and whether a condition holds."""
