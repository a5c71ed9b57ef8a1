// Checking what is noted about extensions; what they have stored is for each of them to check.

internal import QuireStorage

extension DatabaseCore {
  /// Throws at the first thing that is wrong with what is noted about extensions. O(extensions).
  ///
  /// What holds of every snapshot: the record of each extension can be read, and names a number that is its own and has
  /// been given.
  func verifyExtensions(_ tx: borrowing QuireStorage.ReadTransaction) throws {
    guard let catalog = tx.tree(named: ExtensionRecord.treeName) else { return }
    let noted = try tx.value(for: ExtensionCatalog.nextIDKey, in: catalog) ?? UInt32(1).littleEndianBytes
    guard let next = UInt32(littleEndianBytes: noted), next > 0 else { throw wrong("the next number is none") }
    let first = ExtensionCatalog.recordKey("")
    var names: [ExtensionID: String] = [:]
    var cursor = try tx.cursor(catalog)
    var isOnEntry = try cursor.seek(first) || cursor.isOnEntry
    while isOnEntry, let key = try cursor.readKey(), key.starts(with: first) {
      guard let name = String(validating: key.dropFirst(first.count), as: UTF8.self) else {
        throw wrong("the name of one is no text")
      }
      let id = try ExtensionRecord(try cursor.value ?? [], name: name).id
      if let other = names.updateValue(name, forKey: id) { throw wrong("“\(name)” has the number of “\(other)”") }
      if id.rawValue >= next { throw wrong("the number of “\(name)” is still to be given") }
      isOnEntry = try cursor.next()
    }
  }

  private func wrong(_ what: String) -> DatabaseError {
    DatabaseError(
      .damagedRow,
      """
      What is noted about extensions breaks the format: \(what). Unregister the extension, and register it again; or \
      restore the database from a backup.
      """, path: path)
  }
}
