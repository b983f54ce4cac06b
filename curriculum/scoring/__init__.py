"""The scoring pass: what to ask for, the loop that asks and judges, and its journal."""
