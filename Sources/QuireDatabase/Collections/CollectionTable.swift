// Which collections there are, without asking the tree each time.

internal import HashTreeCollections
internal import QuireStorage
internal import Synchronization

/// The collections of the newest appended commit, as far as anybody has asked for them.
///
/// Invariants:
/// 1. No commit after `validFrom` has made, removed or changed a collection; snapshots older than that ask the tree,
///    or, if they are pinned, `CollectionTable.Pinned`.
/// 2. `records` holds nothing that is not in the collection tree as of `validFrom`; it need not hold all of that.
/// 3. `names` has all collections of that tree by their numbers, of which each is that of one; or is nil.
final class CollectionTable: Sendable {
  fileprivate struct State {
    var validFrom = CSN(0)
    var records = TreeDictionary<ByteString, CollectionRecord>()
    var names: TreeDictionary<CollectionID, String>?
  }

  private let state = Latch(State())

  /// The collection of this name in the snapshot of `csn`, if it is known: nil does not mean that there is none.
  func record(_ name: String, at csn: CSN) -> CollectionRecord? {
    state.withLock { state in csn < state.validFrom ? nil : state.records[ByteString(name)] }
  }

  /// Remembers what the tree said in the snapshot of `csn`.
  func remember(_ record: CollectionRecord, at csn: CSN) {
    state.withLock { state in
      if csn >= state.validFrom { state.records[ByteString(record.name)] = record }
    }
  }

  /// The name of the collection of this number in the snapshot of `csn`, if it is known.
  func name(of id: CollectionID, at csn: CSN) -> String? {
    state.withLock { state in csn < state.validFrom ? nil : state.names?[id] }
  }

  /// Remembers all collections that the tree has in the snapshot of `csn`, each under a number of its own.
  func remember(_ names: TreeDictionary<CollectionID, String>, at csn: CSN) {
    state.withLock { state in
      if csn >= state.validFrom { state.names = names }
    }
  }

  /// Takes over what the commit `csn` has changed: nil for a collection that it removed, whose number is in `removed`.
  func apply(_ changes: [(name: String, record: CollectionRecord?)], removed: [CollectionID], csn: CSN) {
    guard !changes.isEmpty else { return }
    state.withLock { state in
      assert(csn >= state.validFrom, "a commit changes collections after a newer one")
      state.validFrom = csn
      for change in changes {
        state.records[ByteString(change.name)] = change.record
        if let id = change.record?.id { state.note(change.name, of: id) }
      }
      for id in removed { state.names?[id] = nil }
    }
  }

  /// Forgets all, as nobody here knows the state of the commit `csn`.
  func removeAll(from csn: CSN) {
    let former = state.withLock { state in
      defer { state = State(validFrom: csn) }
      return state
    }
    withExtendedLifetime(former) {}
  }

  /// Lets go of the coders' memory that waits for transactions.
  func releaseBuffers() {
    for record in state.withLock({ $0.records.map(\.value) }) { record.releaseContexts() }
  }

  /// Throws if an invariant is broken; `stored` says what the tree has in the newest snapshot, `csn`, and `count` how
  /// much of that there is.
  func checkInvariants(csn: CSN, count: Int, stored: (String) throws -> CollectionFormat?) throws {
    let names = state.withLock { $0.validFrom <= csn ? $0.names : nil }
    if let names, names.count != count {
      throw DatabaseError(.damagedRow, "Invariant 3: \(names.count) names, and the tree has \(count).")
    }
    for (id, name) in names ?? TreeDictionary() {
      guard try stored(name)?.id == id else {
        throw DatabaseError(.damagedRow, "Invariant 3: \(id) is another in the tree.", collection: name)
      }
    }
    for (name, record) in state.withLock({ $0.validFrom <= csn ? $0.records.map { ($0.key, $0.value) } : [] }) {
      guard let format = try stored(name.string), format.id == record.id,
        format.objectSchema == record.objectSchema, format.metadataSchema == record.metadataSchema
      else {
        throw DatabaseError(.damagedRow, "Invariant 2: the table differs from the tree.", collection: name.string)
      }
    }
  }
}

extension CollectionTable.State {
  /// Keeps `names` in step with a collection that was made or changed.
  fileprivate mutating func note(_ name: String, of id: CollectionID) {
    // A file may give a number to two collections: whoever asks for its name asks the tree, and is told.
    if let other = names?[id], !other.hasSameBytes(as: name) { names = nil }
    names?[id] = name
  }
}

extension CollectionTable {
  /// The collections of one snapshot that stays, as far as anybody has asked for them: what a pin older than the last
  /// change of a collection would else ask the tree for in each of its reads.
  ///
  /// Invariants:
  /// 1. `records` holds what the snapshot's collection tree does, though perhaps not all of that.
  /// 2. `names` has all collections of that tree by their numbers, or none.
  final class Pinned: Sendable {
    private let records = Latch<[ByteString: CollectionRecord]>([:])
    private let names = Latch<TreeDictionary<CollectionID, String>>([:])

    /// The collection of this name, if it is known: nil does not mean that there is none.
    func record(_ name: String) -> CollectionRecord? { records.withLock { $0[ByteString(name)] } }

    /// Remembers what the tree said.
    func remember(_ record: CollectionRecord) { records.withLock { $0[ByteString(record.name)] = record } }

    /// The name of the collection of this number, if it is known.
    func name(of id: CollectionID) -> String? { names.withLock { $0[id] } }

    /// Remembers all collections that the tree has.
    func remember(_ names: TreeDictionary<CollectionID, String>) { self.names.withLock { $0 = names } }
  }

  /// What the collections of a process hold; the first use of a name decides.
  final class Types: Sendable {
    struct Entry: Equatable, Sendable {
      let object: ObjectIdentifier
      let metadata: ObjectIdentifier
      let coder: CoderIdentity
      let metadataCoder: CoderIdentity
      /// Its types, for messages.
      let types: (Any.Type, Any.Type)

      static func == (left: Self, right: Self) -> Bool {
        left.object == right.object && left.metadata == right.metadata && left.coder == right.coder
          && left.metadataCoder == right.metadataCoder
      }

      var description: String { "\(types.0) (\(coder)) and \(types.1) (\(metadataCoder))" }
    }

    private let entries = Latch<[ByteString: Entry]>([:])

    /// - Throws: `collectionMismatch` if the name was used with another type or coder.
    func check(
      _ collection: UntypedCollection, object: any Sendable.Type, metadata: any Sendable.Type
    ) throws(DatabaseError) {
      let entry = Entry(
        object: ObjectIdentifier(object), metadata: ObjectIdentifier(metadata), coder: collection.objects.identity,
        metadataCoder: collection.metadata.identity, types: (object, metadata))
      let known = entries.withLock { entries -> Entry in
        if let known = entries[ByteString(collection.name)] { return known }
        entries[ByteString(collection.name)] = entry
        return entry
      }
      guard known != entry else { return }
      throw DatabaseError(
        .collectionMismatch,
        """
        The collection was used with \(known.description) before, and with \(entry.description) here. Use one \
        description of a collection everywhere.
        """, collection: collection.name)
    }
  }
}
