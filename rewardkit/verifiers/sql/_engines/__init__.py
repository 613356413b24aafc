"""The engines behind one small interface: a store of data, and a query that runs on it."""
