"""The application: configuration, engines, the scoring pass and what is published from it."""
