// The umbrella: `import Quire` brings everything but the command-line tool and QuireTesting.

@_exported public import QuireDatabase
