"""Pure values and functions: no I/O, no clock, no boto3, no logging."""
