print("quiredb")
