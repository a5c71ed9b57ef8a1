// What is noted of trees while somebody observes: what was read, and what has changed.

internal import QuireStorage

extension ExtensionTree {
  /// Notes that the entry under `key` was looked at, if the transaction is observed.
  @inline(__always) func noteRead(_ key: Key) {
    if let recorder = state.recorder {
      recorder.note(ByteInterval(key.orderedBytes), inTree: name, of: extensionName)
    }
  }

  /// Notes that the entries from `lower` up to `upper` were counted, if the transaction is observed.
  @inline(__always) func noteRead(from lower: Key?, upTo upper: Key?) {
    if let recorder = state.recorder {
      recorder.note(
        ByteInterval(lower: lower?.orderedBytes ?? [], upper: upper?.orderedBytes), inTree: name, of: extensionName)
    }
  }

  /// Runs `body`, and has all that it reads of this tree count as a look at the entries from `lower` up to `upper`: for
  /// one that goes by ranks, which depend on all entries before, and uses only what is among these. Nil means no bound.
  ///
  /// To be called with all that `body` depends on: an observed read is not repeated for changes elsewhere in the tree.
  public func reading<Result>(from lower: Key?, upTo upper: Key?, _ body: () throws -> Result) rethrows -> Result {
    guard let recorder = state.recorder else { return try body() }
    noteRead(from: lower, upTo: upper)
    return try recorder.withoutNoting(body)
  }
}

// MARK: - Changes

extension TransactionState {
  /// Notes that an extension changes an entry of a tree of its own.
  @inline(__always)
  func noteChange<Key: ExtensionTreeKey>(of id: ExtensionID, inTree name: String, _ key: Key) {
    guard let writer else { return }
    writer.noteChange(of: id)
    if writer.treeChanges != nil { noteObservedChange(of: id, inTree: name, ByteInterval(key.orderedBytes)) }
  }

  /// Notes that an extension changes a part of a tree of its own.
  func noteChange(of id: ExtensionID, inTree name: String, _ interval: ByteInterval) {
    writer?.noteChange(of: id)
    if writer?.treeChanges != nil { noteObservedChange(of: id, inTree: name, interval) }
  }

  @inline(never)
  private func noteObservedChange(of id: ExtensionID, inTree name: String, _ interval: ByteInterval) {
    writer?.treeChanges?.insert(interval, inTree: name, of: id)
  }

  /// Notes that an extension changes everything of its own.
  func noteWholeChange(of id: ExtensionID) {
    writer?.noteChange(of: id)
    writer?.treeChanges?.takeWhole(id)
  }
}

extension WriterState {
  /// What has changed in the trees of extensions, by the names of these; nil for one whose changes nobody can tell
  /// apart.
  var changedParts: [ByteString: ExtensionParts] {
    // With another list of extensions it is not trees alone that make the difference.
    guard let treeChanges, !treeChanges.isUnknown, newRegistered == nil else { return [:] }
    var parts: [ByteString: ExtensionParts] = [:]
    for entry in session?.entries ?? [] {
      if let own = treeChanges.extensions[entry.registered.id] { parts[ByteString(entry.registered.name)] = own }
    }
    return parts
  }
}
