// What is noted about an extension, beside the extension that is there.

extension ExtensionRecord {
  /// Whether the extension was built by this code in this version, or in the one given.
  func isSame(as other: any DatabaseExtension, version given: String? = nil) -> Bool {
    let type = type(of: other)
    return ([type.kind] + type.formerKinds).contains { $0.hasSameBytes(as: kind) }
      && formatVersion == type.formatVersion
      && version.hasSameBytes(as: given ?? other.version)
      && dependencies.map { ByteString($0) } == other.dependencies.map { ByteString($0) }
  }

  /// Whether what is stored can go on as what `value` describes, if it is not stale: it was built by the same code, for
  /// the same collections, and holds nothing that is to be made of rows and was not.
  func canGoOn(as value: any DatabaseExtension) -> Bool {
    isSame(as: value) && (collections.map { $0 == value.collections.stored } ?? true)
      && !isNotBuiltFromRows(unlike: value)
  }

  /// Where building begins: an extension that takes no rows that are there already follows all changes at once.
  static func beginning(of value: any DatabaseExtension) -> State {
    .building(through: value.isBuiltFromRows ? RowID(0) : RowID(.max))
  }

  /// Whether it holds what was not made of the rows that were there, and is now to be.
  private func isNotBuiltFromRows(unlike given: any DatabaseExtension) -> Bool {
    let hasOthers = keepsOwnContent && !given.keepsOwnContent || state == .building(through: RowID(.max))
    return given.isBuiltFromRows && hasOthers
  }

  /// The record of an extension that is about to be built.
  init(id: ExtensionID, of new: any DatabaseExtension) {
    self.init(
      id: id, state: Self.beginning(of: new), kind: type(of: new).kind,
      formatVersion: type(of: new).formatVersion, version: new.version, dependencies: new.dependencies)
    keepsOwnContent = new.keepsOwnContent
    collections = new.collections.stored
  }
}
