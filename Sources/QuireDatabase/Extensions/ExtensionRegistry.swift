// Which extensions are registered in this opening of the database.

internal import QuireStorage
internal import Synchronization

/// An extension that is registered, and how far it is.
final class RegisteredExtension: Sendable {
  let value: any DatabaseExtension
  let id: ExtensionID
  let name: String
  let state: ExtensionRecord.State
  let collections: CollectionFilter
  let halves: ChangedHalves
  let handlesClearing: Bool
  let isPersistent: Bool
  /// The type of the description, and the collection that it serves.
  let kind: ObjectIdentifier
  let servedCollection: String?
  /// The version that it was registered with.
  let firstVersion: String
  /// The versions that it had in this opening before it was replaced, the last ones: older snapshots have them.
  let formerVersions: [String]

  /// The record that snapshots had when it was last looked up, with its bytes: the same for nearly all of them.
  private let known = Latch<(bytes: [UInt8], record: ExtensionRecord)?>(nil)
  /// What was found of it in the snapshot that was looked into last.
  let lastKnown = Latch<KnownExtension?>(nil)

  /// The record that some bytes are, which the last look-up may know.
  func record(_ bytes: [UInt8]) throws(DatabaseError) -> ExtensionRecord {
    if let known = known.withLock({ $0 }), known.bytes == bytes { return known.record }
    let record = try ExtensionRecord(bytes, name: name)
    known.withLock { $0 = (bytes, record) }
    return record
  }

  /// How many former versions are remembered.
  private static let formerVersionLimit = 256

  init(
    _ value: any DatabaseExtension, _ id: ExtensionID, _ state: ExtensionRecord.State, firstVersion: String? = nil,
    formerVersions: [String] = []
  ) {
    self.value = value
    self.firstVersion = firstVersion ?? value.version
    self.formerVersions = formerVersions
    self.id = id
    self.state = state
    name = value.name
    collections = value.collections
    halves = value.halves
    handlesClearing = value.handlesClearing
    isPersistent = value.isPersistent
    kind = ObjectIdentifier(type(of: value))
    servedCollection = value.servedCollection
  }

  /// Whether it is a description of this type that serves a collection.
  func serves(_ collection: String, _ kind: ObjectIdentifier) -> Bool {
    self.kind == kind && servedCollection?.hasSameBytes(as: collection) == true
  }

  /// The same one, further on.
  func with(_ state: ExtensionRecord.State) -> RegisteredExtension {
    RegisteredExtension(value, id, state, firstVersion: firstVersion, formerVersions: formerVersions)
  }

  /// The same one with another value in its place.
  func with(_ replacement: any DatabaseExtension) -> RegisteredExtension {
    let others = formerVersions.filter { !$0.hasSameBytes(as: value.version) }
    return RegisteredExtension(
      replacement, id, state, firstVersion: firstVersion,
      formerVersions: others.suffix(Self.formerVersionLimit - 1) + [value.version])
  }

  /// Whether the trees of a snapshot that has this record are what it reads.
  func reads(_ record: ExtensionRecord) -> Bool {
    guard record.state == .ready, record.id == id else { return false }
    return record.isSame(as: value) || formerVersions.contains { record.isSame(as: value, version: $0) }
  }

  /// Whether a description of this version stands for it: of its own version, or of one that it had in this opening.
  func isMeant(byVersion version: String) -> Bool {
    value.version.hasSameBytes(as: version) || firstVersion.hasSameBytes(as: version)
      || formerVersions.contains { $0.hasSameBytes(as: version) }
  }

  var isReady: Bool { state == .ready }

  var isBeingBuilt: Bool { if case .building = state { true } else { false } }

  /// Whether a row is in it, or was before its removal: while it is built, only rows up to some id are.
  func follows(_ rowID: RowID?) -> Bool {
    switch state {
    case .ready: true
    case .building(let through): rowID.map { $0 <= through } ?? false
    case .stale: false
    }
  }
}

/// The extensions that are registered as of some commit, in the order of their registration.
///
/// Invariants:
/// 1. Each has a number of its own and a name of its own.
/// 2. Each comes after those of the list that it depends on.
final class RegisteredExtensions: Sendable {
  let list: [RegisteredExtension]

  init(_ list: [RegisteredExtension]) {
    self.list = list
    assert(Set(list.map(\.id)).count == list.count, "two extensions have one number")
    assert(Set(list.map { ByteString($0.name) }).count == list.count, "two extensions have one name")
    assert(areInOrder, "an extension comes before one that it depends on")
  }

  /// Whether each comes after those that it depends on.
  private var areInOrder: Bool {
    list.indices.allSatisfy { index in
      list[index...].allSatisfy { later in
        !list[index].value.dependencies.contains { $0.hasSameBytes(as: later.name) }
      }
    }
  }

  subscript(name: String) -> RegisteredExtension? { list.first { $0.name.hasSameBytes(as: name) } }

  /// With one more, or with another one in its place.
  func with(_ new: RegisteredExtension) -> RegisteredExtensions {
    guard let index = list.firstIndex(where: { $0.id == new.id }) else {
      return RegisteredExtensions(list + [new])
    }
    var list = list
    list[index] = new
    return RegisteredExtensions(list)
  }

  /// An extension and all that depend on it, through others as well.
  func dependents(of name: String) -> Set<ByteString> {
    var names: Set<ByteString> = [ByteString(name)]
    // Each is registered after those that it depends on.
    for one in list where one.value.dependencies.contains(where: { names.contains(ByteString($0)) }) {
      names.insert(ByteString(one.name))
    }
    return names
  }

  /// Without those of these names.
  func without(_ names: Set<ByteString>) -> RegisteredExtensions {
    RegisteredExtensions(list.filter { !names.contains(ByteString($0.name)) })
  }
}

/// The registered extensions of an open database. Changed by write transactions, when they can no longer fail.
final class ExtensionRegistry: Sendable {
  private struct State {
    var registered: RegisteredExtensions?
    /// Names that a registration is at work on.
    var busy: Set<ByteString> = []
    /// The collections that concern stored extensions which are not registered, and not marked as stale; nil if
    /// nobody has looked.
    var unmarkedOthers: [CollectionFilter.Stored]?
    /// Those that were ready and are not registered any more, and from which commit on.
    var former: [(registered: RegisteredExtension, end: CSN)] = []
  }

  private let state = Latch(State())
  /// Whether `former` has any.
  private let anyFormer = Atomic(false)
  /// When what is stored of extensions changed.
  let changes = LastExtensionChange()

  /// What is registered now; nil if nothing is.
  var current: RegisteredExtensions? { state.withLock { $0.registered } }

  /// The collections that concern stored extensions which are not registered, and not marked as stale; nil if nobody
  /// has looked.
  var unmarkedOthers: [CollectionFilter.Stored]? { state.withLock { $0.unmarkedOthers } }

  /// Whether there are extensions that only snapshots before some commit show.
  var hasFormer: Bool { anyFormer.load(ordering: .relaxed) }

  /// The extension that reads the trees of this record, in a snapshot from before it went.
  func former(_ record: ExtensionRecord) -> RegisteredExtension? {
    guard hasFormer else { return nil }
    return state.withLock { state in state.former.last { $0.registered.reads(record) }?.registered }
  }

  /// Forgets those that went with the commit `csn` or an earlier one: nobody reads a snapshot from before it any more.
  func forget(before csn: CSN) {
    let gone = state.withLock { state in
      let gone = state.former.filter { $0.end <= csn }
      if !gone.isEmpty { state.former.removeAll { $0.end <= csn } }
      anyFormer.store(!state.former.isEmpty, ordering: .relaxed)
      return gone
    }
    withExtendedLifetime(gone) {}
  }

  /// Takes over what a commit has changed.
  ///
  /// - Parameter csn: of the commit; nil if what goes was never to be seen.
  func apply(
    _ registered: RegisteredExtensions?, unmarkedOthers: [CollectionFilter.Stored]? = nil, csn: CSN? = nil
  ) {
    // What goes may be the last of an app's closures, and of what they hold: not under the latch.
    let former = state.withLock { state -> RegisteredExtensions? in
      let former = state.registered
      if let registered {
        // One that has gone is one of the others now, and one that has come is not any more.
        state.unmarkedOthers = nil
        if let csn {
          for one in former?.list ?? [] where one.isReady && !registered.list.contains(where: { $0.id == one.id }) {
            assert(state.former.last.map { $0.end <= csn } ?? true, "an extension goes with an older commit")
            state.former.append((one, csn))
          }
          anyFormer.store(!state.former.isEmpty, ordering: .relaxed)
        }
        state.registered = registered.list.isEmpty ? nil : registered
      }
      if let unmarkedOthers, registered == nil { state.unmarkedOthers = unmarkedOthers }
      return former
    }
    withExtendedLifetime(former) {}
  }

  /// Forgets what is registered, as nobody here knows the state of the commit `csn`; returns what was.
  func beginAnew(csn: CSN) -> RegisteredExtensions? {
    changes.beginAnew(at: csn)
    let former = state.withLock { state in
      defer { state = State(busy: state.busy) }
      return state
    }
    anyFormer.store(false, ordering: .relaxed)
    return former.registered
  }

  /// Begins work on a name.
  ///
  /// - Throws: `extensionExists` if another registration or removal is at work on it.
  func begin(_ name: String) throws(DatabaseError) {
    let isFree = state.withLock { $0.busy.insert(ByteString(name)).inserted }
    if isFree { return }
    throw DatabaseError(
      .extensionExists, "The extension “\(name)” is being registered or unregistered already. Wait for that to end.")
  }

  /// Ends work on a name.
  func end(_ name: String) {
    let ended = state.withLock { $0.busy.remove(ByteString(name)) }
    assert(ended != nil, "work on a name ends that has not begun")
  }
}
