// The umbrella: `import Quire` brings all that apps need. The engine on its own is `import QuireStorage`.

@_exported public import QuireDatabase
@_exported public import QuireFullText
@_exported public import QuireIndexes
@_exported public import QuireRelationships
@_exported public import QuireText
@_exported public import QuireViews
