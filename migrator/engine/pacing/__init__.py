"""How fast a run works: budgets that find the limit, hot keys held by themselves, and the load of the table."""
