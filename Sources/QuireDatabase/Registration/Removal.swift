// Taking extensions away.

internal import QuireStorage

/// Taking an extension away.
struct Removal {
  let core: DatabaseCore
  let name: String
  /// Has what another extension keeps for those that go forgotten, in the same transaction.
  var keeper: (name: String, forget: (ExtensionStore, [String]) throws -> Void)?

  /// Unregisters the extension and all that depend on it, and removes what is stored of them. Returns their names.
  func run() throws -> [String] {
    try core.extensions.begin(name)
    defer { core.extensions.end(name) }
    return try core.write(nil) { tx in
      let state = tx.state
      guard let writer = state.writer else { throw state.notWriting() }
      // Its writer must not settle what is about to go.
      let registered = writer.registered ?? RegisteredExtensions([])
      var names: Set<ByteString> = [ByteString(name)]
      let records = try state.extensionCatalog.storedRecords(without: name)
      // Those that are registered and those that are only stored.
      var count: Int
      repeat {
        count = names.count
        for record in records where record.record.dependencies.contains(where: { names.contains(ByteString($0)) }) {
          names.insert(ByteString(record.name))
        }
        for dependent in registered.list
        where dependent.value.dependencies.contains(where: { names.contains(ByteString($0)) }) {
          names.insert(ByteString(dependent.name))
        }
      } while names.count > count
      var removed: [String] = []
      for (stored, record) in records where names.contains(ByteString(stored)) {
        // In a file that anybody may have written the trees may be those of one that stays.
        if records.contains(where: { $0.record.id == record.id && !names.contains(ByteString($0.name)) }) {
          try state.extensionCatalog.forgetRecord(stored)
        } else {
          try state.extensionCatalog.forgetStored(stored, record.id)
        }
        removed.append(stored)
      }
      // A record that cannot be read does not say which trees are its own: they stay, and nobody gets their number.
      if !removed.contains(where: { $0.hasSameBytes(as: name) }), try state.extensionCatalog.forgetRecord(name) {
        removed.append(name)
      }
      for one in registered.list where names.contains(ByteString(one.name)) && !one.isPersistent {
        try state.extensionCatalog.forgetInMemory(one.name, one.id)
        removed.append(one.name)
      }
      guard removed.contains(where: { $0.hasSameBytes(as: name) }) else {
        throw DatabaseError(
          .extensionNotRegistered, "There is no extension “\(name)”, registered or stored.", path: core.path)
      }
      if registered.list.contains(where: { names.contains(ByteString($0.name)) }) {
        writer.newRegistered = registered.without(names)
      }
      if let keeper, !names.contains(ByteString(keeper.name)),
        let store = store(of: keeper.name, records, registered, state)
      {
        try keeper.forget(store, removed)
      }
      return removed
    }
  }

  /// What the keeper has, also if it is only stored. Its writer follows nothing of this transaction.
  private func store(
    of keeper: String, _ records: [(name: String, record: ExtensionRecord)], _ registered: RegisteredExtensions,
    _ state: TransactionState
  ) -> ExtensionStore? {
    if let one = registered[keeper] { return state.extensions.store(of: one) }
    return records.first { $0.name.hasSameBytes(as: keeper) }.map {
      ExtensionStore(state: state, id: $0.record.id, isPersistent: true, name: keeper)
    }
  }
}
