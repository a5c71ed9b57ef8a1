// A collection as the open database knows it.

internal import QuireStorage
internal import Synchronization

/// One collection as of some commit: immutable, and shared by all transactions that see it like this.
final class CollectionRecord: Sendable {
  let name: String
  let id: CollectionID
  let objectSchema: RowSchema
  let metadataSchema: RowSchema
  /// What has written its rows.
  let coders: StoredCoders
  /// The dictionaries of the collection.
  let dictionaries: CollectionDictionaries
  /// Coders' memory that no transaction uses at the moment.
  private let idleContexts = Latch<[CodingContexts]>([])

  /// What `isKept` was told: 0 nothing yet, 1 no, 2 yes.
  let keeping = Atomic<UInt8>(0)

  /// More than this many transactions at a time are rare; the rest make theirs anew.
  private static let mostIdleContexts = 8

  init(name: String, _ format: CollectionFormat, _ dictionaries: CollectionDictionaries) {
    self.name = name
    self.dictionaries = dictionaries
    id = format.id
    objectSchema = format.objectSchema
    metadataSchema = format.metadataSchema
    coders = format.coders
  }

  /// Coders' memory for a transaction, which gives it back at its end.
  func takeContexts() -> CodingContexts {
    idleContexts.withLock { $0.popLast() }
      ?? CodingContexts(
        object: RowCodingContext(schema: objectSchema, of: name),
        metadata: RowCodingContext(schema: metadataSchema, of: name))
  }

  /// Lets go of coders' memory that no transaction uses.
  func releaseContexts() {
    let idle = idleContexts.withLock { idle in
      defer { idle.removeAll() }
      return idle
    }
    _ = idle
  }

  /// Takes back what `takeContexts` gave. What has learnt fields since, in a transaction that was rolled back perhaps,
  /// is not kept: the next user would store ids that have no name.
  func giveBack(_ contexts: CodingContexts) {
    guard contexts.object.schema.names.count == objectSchema.names.count,
      contexts.metadata.schema.names.count == metadataSchema.names.count
    else { return }
    idleContexts.withLock { idle in
      assert(!idle.contains { $0 === contexts }, "coders' memory is given back twice")
      if idle.count < Self.mostIdleContexts { idle.append(contexts) }
    }
  }
}

/// The memory of both coders of a collection.
final class CodingContexts: @unchecked Sendable {
  // Sendable: safe because one transaction has it at a time.
  let object: RowCodingContext
  let metadata: RowCodingContext

  init(object: RowCodingContext, metadata: RowCodingContext) {
    self.object = object
    self.metadata = metadata
  }
}
