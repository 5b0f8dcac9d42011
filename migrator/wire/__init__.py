"""The fast transport of items: DynamoDB's JSON protocol spoken directly, in batches, with items that stay bytes."""
