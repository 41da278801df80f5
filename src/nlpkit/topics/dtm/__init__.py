"""Dynamic topic models: topics whose words drift from period to period."""
