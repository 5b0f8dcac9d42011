"""The ports in memory, with virtual time and hooks at every call: for this project's tests and for yours."""
