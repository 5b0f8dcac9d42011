"""The boto3 room: the adapters of the ports in `migrator.core.ports`, and nothing else of the project speaks to AWS."""
