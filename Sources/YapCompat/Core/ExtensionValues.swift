// Values that extensions keep, in an extension of the new API that keeps nothing else.

internal import Quire

/// Where the values of `YapDatabaseExtensionTransaction` are. Registered with the first extension.
struct ExtensionValues: DatabaseExtension {
  static let kind = "yapCompat.values"

  let name = "YapCompat.values"
  var collections: CollectionFilter { .only([]) }
  var halves: ChangedHalves { [] }
  var isBuiltFromRows: Bool { false }

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> Writer { Writer(store) }

  /// The values in a write transaction.
  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    let needsWillChange = false

    init(_ store: ExtensionStore) { self.store = store }

    /// Values are not made of rows: they stay when rows were changed without this being registered.
    func willBuild(_ reason: ExtensionBuildReason) {}
  }

  /// The name that a value of an extension is kept under. The length comes first, so that no two of them are alike.
  static func key(_ extensionName: String, _ key: String) -> String {
    "\(extensionName.utf8.count):\(extensionName)\(key)"
  }
}
