// Which extensions a write transaction has changed.

extension WriterState {
  /// The names of the extensions that are not what they were: their trees, or what is registered under their names.
  var changedExtensionNames: Set<ByteString> {
    var names: Set<ByteString> = []
    if !changedExtensions.isEmpty {
      for entry in session?.entries ?? [] where changedExtensions.contains(entry.registered.id) {
        names.insert(ByteString(entry.registered.name))
      }
    }
    guard let newRegistered else { return names }
    let (old, new) = (registered?.list ?? [], newRegistered.list)
    for one in old where !new.contains(where: { $0 === one }) { names.insert(ByteString(one.name)) }
    for one in new where !old.contains(where: { $0 === one }) { names.insert(ByteString(one.name)) }
    return names
  }

  /// The names of the extensions whose content readers see begin or end with this transaction.
  var restartedExtensionNames: Set<ByteString> {
    guard let newRegistered else { return [] }
    let (old, new) = (registered?.list ?? [], newRegistered.list)
    var names: Set<ByteString> = []
    for one in old where one.isReady && !new.contains(where: { $0.id == one.id && $0.isReady }) {
      names.insert(ByteString(one.name))
    }
    for one in new where one.isReady && !old.contains(where: { $0.id == one.id && $0.isReady }) {
      names.insert(ByteString(one.name))
    }
    return names
  }
}
