"""What a plan would cost: items, units, money, time, hot keys. One look at each table; nothing here writes."""
