"""The paper's claims, the tests that decide them, and the statistics behind the tests."""
