// What a relationship knows of objects, without their types.

internal import QuireDatabase

/// How to tell the rows of a collection.
struct Notifier: Sendable {
  /// The object of a row.
  let load: @Sendable (RowChange) throws -> (any Sendable)?
  /// Tells the object of a row; returns what it is to become.
  let tell: @Sendable (any Sendable, RowKey, Edge, EdgeReason) throws -> Any?
  /// Stores what `tell` returned.
  let replace: @Sendable (Any, RowKey, WriteTransaction) throws -> Void
}

/// Closures by the collections that they are for.
private struct ByCollection<Closure: Sendable>: Sendable {
  /// Of collections that are known by name.
  private var named: [ByteString: [Closure]] = [:]
  /// Of collections that a filter knows.
  private var filtered: [(filter: CollectionFilter, closure: Closure)] = []

  var isEmpty: Bool { named.isEmpty && filtered.isEmpty }

  mutating func add(_ filter: CollectionFilter, named names: [String] = [], _ closure: Closure) {
    if names.isEmpty { return filtered.append((filter, closure)) }
    for name in Set(names.map(ByteString.init)) { named[name, default: []].append(closure) }
  }

  /// Those of a collection, in the order in which they came, but named ones last; nil if there are none.
  func find(_ collection: String) -> [Closure]? {
    let own = named.isEmpty ? nil : named[ByteString(collection)]
    if filtered.isEmpty { return own }
    let others = filtered.filter { $0.filter.contains(collection) }.map(\.closure)
    return others.isEmpty ? own : others + (own ?? [])
  }
}

/// What makes edges of the rows of the collection that was asked for last: most rows are of the same as the one before.
struct LastDeriver {
  private var last: (collection: ByteString, deriver: RelationshipSettings.Deriver?)?

  /// What makes edges of the rows of a collection; nil if nothing does.
  mutating func find(_ collection: String, _ settings: RelationshipSettings) -> RelationshipSettings.Deriver? {
    if let last, last.collection == ByteString(collection) { return last.deriver }
    let deriver = settings.deriver(of: collection)
    last = (ByteString(collection), deriver)
    return deriver
  }
}

/// The closures of a relationship.
struct RelationshipSettings: Sendable {
  static let kind = "quire.relationship"

  /// What makes edges of a row.
  typealias Deriver = @Sendable (RowChange) throws -> [Edge]

  private var derivers = ByCollection<Deriver>()
  private var notifiers = ByCollection<Notifier>()
  /// Who wants to know what registering does.
  var watch: RegistrationWatch?
  var missingEnds = MissingEnds.countAsDeleted
  var untoldRows = UntoldRows.refuse
  /// How many changes of edges, and how many edges that have gone, a transaction keeps in memory; see
  /// `StoredEdge.weight`.
  var notedCount = EdgeLimits.notedCount
  /// How an app deletes files; nil if as usual.
  var removeFile: (@Sendable (String) throws -> Void)?
  /// Makes the names in a folder durable, of which files were removed as usual.
  var synchronizeFolder: @Sendable (String) throws -> Void = { try FileRemoval.synchronize($0) }

  /// Whether objects of any collection are asked for edges.
  var hasDerivers: Bool { !derivers.isEmpty }
  /// Whether rows of any collection are told.
  var hasNotifiers: Bool { !notifiers.isEmpty }

  /// What makes edges of the rows of a collection; nil if nothing does.
  func deriver(of collection: String) -> Deriver? {
    guard let all = derivers.find(collection), let first = all.first else { return nil }
    if all.count == 1 { return first }
    return { change in try all.flatMap { try $0(change) } }
  }

  /// What tells the rows of a collection; nil if nothing does.
  func notifier(of collection: String) -> Notifier? { notifiers.find(collection)?.last }

  /// Has the objects of collections asked for edges, beside what asks them already.
  mutating func derive<Object, Metadata>(
    _ family: CollectionFamily<Object, Metadata>, _ edges: @escaping @Sendable (Object, RowKey) throws -> [Edge]
  ) {
    if family.named.count == 1, let collection = family.named.first {
      // Known by its name alone, which was looked up.
      return derivers.add(family.filter, named: [collection.name]) { change in
        try change.object(in: collection).map { try edges($0, change.rowKey) } ?? []
      }
    }
    derivers.add(family.filter, named: family.named.map(\.name)) { change in
      guard let collection = family.collection(named: change.collection), let object = try change.object(in: collection)
      else { return [] }
      return try edges(object, change.rowKey)
    }
  }

  /// Has the rows of collections asked, whatever their types.
  mutating func derive(_ filter: CollectionFilter, _ edges: @escaping Deriver) { derivers.add(filter, edges) }

  /// Has the rows of collections told, instead of what tells them already, and what `telling` returns stored by
  /// `replacing`.
  mutating func notify<Object, Metadata, Told>(
    _ family: CollectionFamily<Object, Metadata>,
    _ telling: @escaping @Sendable (Object, RowKey, Edge, EdgeReason) throws -> Told?,
    _ replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) {
    let notifier = Self.notifier(
      { change in try family.collection(named: change.collection).flatMap { try change.object(in: $0) } }, telling,
      replacing)
    notifiers.add(family.filter, named: family.named.map(\.name), notifier)
  }

  /// The same for collections of whatever types.
  mutating func notify<Loaded: Sendable, Told>(
    _ filter: CollectionFilter, _ loading: @escaping @Sendable (RowChange) throws -> Loaded?,
    _ telling: @escaping @Sendable (Loaded, RowKey, Edge, EdgeReason) throws -> Told?,
    _ replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) {
    notifiers.add(filter, Self.notifier(loading, telling, replacing))
  }

  private static func notifier<Loaded: Sendable, Told>(
    _ loading: @escaping @Sendable (RowChange) throws -> Loaded?,
    _ telling: @escaping @Sendable (Loaded, RowKey, Edge, EdgeReason) throws -> Told?,
    _ replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) -> Notifier {
    Notifier(
      load: loading,
      tell: { object, key, edge, reason in
        guard let object = object as? Loaded else { return nil }
        return try telling(object, key, edge, reason)
      },
      replace: { told, key, tx in
        if let told = told as? Told { try replacing(told, key, tx) }
      })
  }
}
