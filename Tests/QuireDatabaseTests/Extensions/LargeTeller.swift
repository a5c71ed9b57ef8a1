// An extension that tells more of a commit than the history of commits keeps.

import QuireDatabase

/// Says of each change of one collection that it takes more memory than there is for commits that wait for followers.
struct LargeTeller: DatabaseExtension {
  static let kind = "test.largeTeller"
  static let collection = "told at length"

  let name = "large teller"
  var collections: CollectionFilter { .only([Self.collection]) }
  var isBuiltFromRows: Bool { false }

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> Writer { Writer(store) }

  struct Changes: ExtensionChanges {
    var byteCount: Int { Limits.historyByteCount + 1 }
  }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    private var hasChanged = false

    init(_ store: ExtensionStore) { self.store = store }

    func willBuild(_ reason: ExtensionBuildReason) throws {}
    func didChange(_ change: RowChange) throws { hasChanged = true }
    func takeChanges() -> Changes? { hasChanged ? Changes() : nil }
  }
}
