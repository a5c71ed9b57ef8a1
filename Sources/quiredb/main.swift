// The command-line tool: looks into a database, checks it, and tortures the engine.

print("quiredb")
