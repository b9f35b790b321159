"""viva examines AI agents: it talks to them, looks at what they did, and says how good they are."""
