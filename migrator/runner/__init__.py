"""Lock -> lint -> plan -> execute -> verify -> record."""
