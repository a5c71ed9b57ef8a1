// Registering a full text.

public import QuireDatabase

extension FullText: DatabaseExtension {
  public static var kind: String { FullTextTrees.kind }
  public static var formatVersion: UInt32 { FullTextTrees.formatVersion }
  public static var readsTreesOnly: Bool { true }

  public var collections: CollectionFilter { .only([layout.collection]) }
  public var halves: ChangedHalves { layout.halves }
  public var handlesClearing: Bool { true }
  /// Its collection. Of several full texts of one collection, searches that name none use the one that was registered
  /// first.
  public var servedCollection: String? { layout.collection }

  public func checkRegistration(beside others: [any DatabaseExtension]) throws { try layout.check() }

  public func makeReader(_ store: ExtensionStore) throws -> FullTextReader<Object, Metadata> {
    FullTextReader(self, try FullTextTrees(store, layout))
  }

  public func makeWriter(_ store: ExtensionStore) throws -> FullTextWriter<Object, Metadata> {
    FullTextWriter(self, try FullTextUpkeep(FullTextTrees(store, layout)))
  }

  public func finishBuilding(in database: Database, progress: (Database.Progress) throws -> Void) throws {
    try withoutActuallyEscaping(progress) { progress in
      let builder = FullTextBuilder(
        fullText: self, database: database, progress: progress,
        trees: { try $0.access(to: self).stored }, upkeep: { try $0.access(to: self).upkeep })
      try builder.run()
    }
  }
}
