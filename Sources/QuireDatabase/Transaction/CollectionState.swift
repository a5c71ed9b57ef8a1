// A collection in one transaction.

internal import QuireStorage

/// What a transaction knows of a collection: its id, and the memory of its coders.
///
/// Invariants:
/// 1. `id` is nil exactly while the collection does not exist for the transaction.
/// 2. `uses` are of types and coders that were checked, and refer to `descriptions`.
/// 3. `usedCoders` read what `coders` have written, if there are `uses`; `coders` have those of the `writtenHalves`.
/// 4. The contexts know at least the fields that are stored; more after an object with new ones was encoded, until
///    `storeFields` has stored these, before the commit.
@safe @usableFromInline final class CollectionState: @unchecked Sendable {
  // Sendable: safe because one transaction has it, on one thread, but for `untouched`, which is not even looked at.
  let name: String
  /// Why it could not be opened.
  let failure: DatabaseError?
  /// How it has been used; none as long as that was untyped only.
  private(set) var uses: [CollectionState.Use] = []
  private var descriptions: [AnyObject] = []
  private(set) var id: CollectionID?
  /// The id that it had before it lost its last row, at the end of the transaction.
  private(set) var forgottenID: CollectionID?
  let contexts: CodingContexts
  /// Those of `contexts`.
  let objectContext: Unmanaged<RowCodingContext>
  let metadataContext: Unmanaged<RowCodingContext>
  /// The cache of objects, if the transaction may use it for this collection. Owned by the database.
  let cache: Unmanaged<ObjectCache>?
  /// The newest commit that may have removed all rows of the collection, as far as it concerns the cache.
  let cacheCleared: UInt64
  /// Where the contexts came from.
  private let record: CollectionRecord?
  /// How many fields of each half are stored.
  private var storedObjectFields = 0
  private var storedMetadataFields = 0
  /// What has written its rows, this transaction included, and what is stored about that.
  private(set) var coders: StoredCoders
  private var storedCoders: StoredCoders
  /// The coders that this transaction uses, and the halves of rows that it has stored by them.
  private var usedCoders = StoredCoders()
  private(set) var writtenHalves: RowHalves = []
  /// The collection's dictionaries, as far as the transaction has used them.
  var dictionaries = DictionaryUse()
  /// Whether a dictionary is to be thought of once the row is stored, and above which length.
  var trainingIsDue: Int?
  /// What all transactions share of them, in a collection that this one has made.
  private var newDictionaries: CollectionDictionaries?
  /// Whether a row of it was removed, so that it may be empty.
  var hasRemoved = false

  /// Stands in for every collection of a transaction that is over, whose calls all throw before they look.
  static let untouched = CollectionState("", nil)

  init(
    _ name: String, _ record: CollectionRecord?, failure: DatabaseError? = nil,
    cache: (cache: ObjectCache, cleared: UInt64)? = nil
  ) {
    self.name = name
    unsafe self.cache = unsafe cache.map { unsafe .passUnretained($0.cache) }
    cacheCleared = cache?.cleared ?? 0
    self.failure = failure
    self.record = record
    id = record?.id
    contexts =
      record?.takeContexts()
      ?? CodingContexts(
        object: RowCodingContext(schema: RowSchema(), of: name),
        metadata: RowCodingContext(schema: RowSchema(), of: name))
    unsafe objectContext = unsafe .passUnretained(contexts.object)
    unsafe metadataContext = unsafe .passUnretained(contexts.metadata)
    storedObjectFields = record?.objectSchema.names.count ?? 0
    storedMetadataFields = record?.metadataSchema.names.count ?? 0
    coders = record?.coders ?? StoredCoders()
    storedCoders = coders
  }

  /// What all transactions share of the collection's dictionaries.
  var sharedDictionaries: CollectionDictionaries {
    if let shared = record?.dictionaries ?? newDictionaries { return shared }
    let new = CollectionDictionaries()
    newDictionaries = new
    return new
  }

  /// Keeps a description whose types and coders were found to be right, and returns whether it did: a description whose
  /// closures are made anew for each use is another one each time.
  func keep(_ use: CollectionFingerprint, _ description: AnyObject) -> Bool {
    guard uses.count < Self.mostDescriptions else { return false }
    uses.append(CollectionState.Use(use, self, description))
    descriptions.append(description)
    assert(uses.count <= descriptions.count, "a use refers to a description that is not kept")
    return true
  }

  private static let mostDescriptions = 4

  /// Throws `collectionMismatch` if coders of another kind have written its rows.
  func check(_ used: StoredCoders) throws(DatabaseError) {
    if usedCoders == used { return }
    // Metadata may be used in one place, and not be known of in another.
    try usedCoders.check(readBy: used, name)
    try coders.check(readBy: used, name)
    usedCoders = usedCoders.joined(with: used, [.object, .metadata])
    // What a coder that is not known has stored says nothing of this one.
    writtenHalves = []
  }

  /// Takes over coders and names of fields that are to be those of the rows to come. Returns whether the names are the
  /// collection's, so that the numbers of fields mean the same: a collection that has others keeps them.
  ///
  /// - Throws: `collectionMismatch` if coders of another kind have written its rows.
  func adopt(_ new: StoredCoders, _ object: RowSchema, _ metadata: RowSchema) throws(DatabaseError) -> Bool {
    // Of rows that are there, and whose coder nobody has noted, a note says nothing.
    let takesCoders = id == nil || coders.object != .unknown
    if takesCoders { try check(new) }
    let hasNames = Self.agree(contexts.object.schema, object) && Self.agree(contexts.metadata.schema, metadata)
    if hasNames {
      if object.names.count > contexts.object.schema.names.count { contexts.object.reset(to: object) }
      if metadata.names.count > contexts.metadata.schema.names.count { contexts.metadata.reset(to: metadata) }
    }
    if takesCoders { coders = coders.joined(with: new, [.object, .metadata]) }
    assert(knowsStoredFields, "names of fields are lost that are stored")
    return hasNames
  }

  /// Whether one schema is the beginning of the other, to the byte.
  private static func agree(_ one: RowSchema, _ other: RowSchema) -> Bool {
    zip(one.names, other.names).allSatisfy { $0.hasSameBytes(as: $1) }
  }

  /// Halves of a row are about to be stored by the coders that the transaction uses. To look at a collection, and to
  /// fail to decode a row of it, is no reason to note a coder.
  ///
  /// - Throws: `collectionMismatch` if rows of another coder are back since the collection was opened, as a savepoint
  ///   was rolled back.
  @inline(__always) func willWrite(_ halves: RowHalves) throws(DatabaseError) {
    if !writtenHalves.isSuperset(of: halves) { try noteWriting(halves) }
  }

  private func noteWriting(_ halves: RowHalves) throws(DatabaseError) {
    try coders.check(readBy: usedCoders, name)
    coders = coders.joined(with: usedCoders, halves)
    writtenHalves.formUnion(halves)
  }

  /// The transaction is over.
  func end() {
    if dictionaries.hasBegunWriting { dictionaries.end(sharedDictionaries) }
    guard let record, record.id == id else { return }
    record.giveBack(contexts)
  }

  /// Whether this transaction made the collection.
  var isNew: Bool { id != nil && record?.id != id }

  /// Whether the collection has come or gone in this transaction.
  var isOtherThanFound: Bool { (id == nil) != (record == nil) }

  // MARK: Savepoints

  struct Mark {
    let id: CollectionID?
    let objectSchema: RowSchema
    let metadataSchema: RowSchema
    let storedObjectFields: Int
    let storedMetadataFields: Int
    let coders: StoredCoders
    let storedCoders: StoredCoders
    let writtenHalves: RowHalves
    let trainedCount: Int
  }

  var mark: Mark {
    Mark(
      id: id, objectSchema: contexts.object.schema, metadataSchema: contexts.metadata.schema,
      storedObjectFields: storedObjectFields, storedMetadataFields: storedMetadataFields, coders: coders,
      storedCoders: storedCoders, writtenHalves: writtenHalves, trainedCount: dictionaries.trained.count)
  }

  /// Back to `mark`, or, without one, to what the transaction began with.
  func restore(_ mark: Mark?) {
    id = mark?.id ?? (mark == nil ? record?.id : nil)
    contexts.object.reset(to: mark?.objectSchema ?? record?.objectSchema ?? RowSchema())
    contexts.metadata.reset(to: mark?.metadataSchema ?? record?.metadataSchema ?? RowSchema())
    storedObjectFields = mark?.storedObjectFields ?? record?.objectSchema.names.count ?? 0
    storedMetadataFields = mark?.storedMetadataFields ?? record?.metadataSchema.names.count ?? 0
    storedCoders = mark?.storedCoders ?? record?.coders ?? StoredCoders()
    coders = mark?.coders ?? storedCoders
    writtenHalves = mark?.writtenHalves ?? []
    if uses.isEmpty || !usedCoders.read(coders) {
      // Used without types alone, by coders of rows that are gone; or opened while its rows were gone, which are back:
      // the next opening is told.
      uses = []
      usedCoders = StoredCoders()
    }
    dictionaries.restore(mark?.trainedCount ?? 0)
    assert(knowsStoredFields, "a savepoint has taken back fields that are stored")
  }

  // MARK: Changes

  /// The collection's id; makes the collection if it does not exist.
  func existingOrNewID(in transaction: TransactionState) throws(DatabaseError) -> CollectionID {
    if let id { return id }
    let new = try transaction.allocateCollectionID()
    id = new
    transaction.collections.note(name, of: new)
    do throws(StorageError) { try store(new, in: transaction) } catch {
      throw DatabaseError(error, collection: name)
    }
    return new
  }

  /// The collection and all that is noted about it are gone.
  func forget() {
    assert(id != nil && forgottenID == nil, "a collection goes that is gone")
    forgottenID = id
    id = nil
    contexts.object.reset(to: RowSchema())
    contexts.metadata.reset(to: RowSchema())
    storedObjectFields = 0
    storedMetadataFields = 0
    (coders, storedCoders, writtenHalves) = (StoredCoders(), StoredCoders(), [])
    dictionaries.restore(0)
  }

  /// Stores the names of fields that objects have had for the first time, and what has written them.
  func storeFields(in transaction: TransactionState) throws(DatabaseError) {
    assert(knowsStoredFields, "fields are stored that the coders do not know")
    guard let id, hasNewFields || coders != storedCoders else { return }
    do throws(StorageError) { try store(id, in: transaction) } catch { throw DatabaseError(error, collection: name) }
  }

  /// Whether the contexts know at least the fields that are stored.
  private var knowsStoredFields: Bool {
    storedObjectFields <= contexts.object.schema.names.count
      && storedMetadataFields <= contexts.metadata.schema.names.count
  }

  private var hasNewFields: Bool {
    contexts.object.schema.names.count != storedObjectFields
      || contexts.metadata.schema.names.count != storedMetadataFields
  }

  private func store(_ id: CollectionID, in transaction: TransactionState) throws(StorageError) {
    try transaction.storeCollection(name, format(id).bytes)
    storedObjectFields = contexts.object.schema.names.count
    storedMetadataFields = contexts.metadata.schema.names.count
    storedCoders = coders
  }

  private func format(_ id: CollectionID) -> CollectionFormat {
    CollectionFormat(
      id: id, objectSchema: contexts.object.schema, metadataSchema: contexts.metadata.schema, coders: coders)
  }

  /// Makes known what this transaction has trained, if it has.
  var publication: (() -> Void)? { dictionaries.trained.isEmpty ? nil : dictionaries.publication(sharedDictionaries) }

  /// The record for later transactions, if this one made or changed the collection; `.some(nil)` if it removed it.
  var newRecord: CollectionRecord?? {
    guard let id else { return record == nil ? .none : .some(nil) }
    assert(!hasNewFields && coders == storedCoders, "fields are made known that are not stored")
    if let record, record.id == id, record.objectSchema.names.count == storedObjectFields,
      record.metadataSchema.names.count == storedMetadataFields, record.coders == storedCoders
    {
      return .none
    }
    return .some(CollectionRecord(name: name, format(id), sharedDictionaries))
  }
}
