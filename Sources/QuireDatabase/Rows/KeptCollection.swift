// What an app says of a collection, as a transaction keeps it.

internal import QuireStorage

/// A description with its types, for code that does not know these. A transaction keeps it, so that handles need not
/// copy it.
///
/// Invariant: both coders are of the types beside them.
@safe @usableFromInline final class KeptCollection: Sendable {
  let collection: UntypedCollection
  let object: ValueType
  let metadata: ValueType
  let objectCoder: ValueCoder
  let metadataCoder: ValueCoder
  let types: CachedTypes
  /// What encrypts the halves, if anything does; kept by `collection`, and here without a count.
  let protections: RowProtections
  /// How values are stored: not with a dictionary if either half is encrypted, as it would hold pieces of rows.
  let compression: Compression
  /// Room for both halves of a row, and where the metadata are in it; the object is at its beginning.
  let roomByteCount: Int
  let roomAlignment: Int
  let metadataOffset: Int

  init(_ collection: UntypedCollection, object: any Sendable.Type, metadata: any Sendable.Type) {
    assert(collection.objects.isCoder(of: object), "a coder of other objects than the collection has")
    assert(collection.metadata.isCoder(of: metadata), "a coder of other metadata than the collection has")
    self.collection = collection
    (objectCoder, metadataCoder) = (collection.objects, collection.metadata)
    self.object = ValueType(object)
    self.metadata = ValueType(metadata)
    types = CachedTypes(object: object, metadata: metadata)
    protections = RowProtections(objectCoder.protection, metadataCoder.protection)
    compression = protections.isEmpty ? collection.compression : collection.compression.withoutDictionary
    roomAlignment = max(self.object.alignment, self.metadata.alignment)
    metadataOffset = (self.object.byteCount + self.metadata.alignment - 1) & ~(self.metadata.alignment - 1)
    roomByteCount = metadataOffset + self.metadata.byteCount
  }

  /// Whether its rows are of these types.
  func isOf(_ object: any Sendable.Type, _ metadata: any Sendable.Type) -> Bool {
    types == CachedTypes(object: object, metadata: metadata)
  }

  /// What the cache keeps of a row whose object is at `object`; of metadata that were read, `metadata` has their place
  /// inside, if the row has some.
  @inline(never)
  func entry(
    _ place: CachePlace, _ rowID: RowID, _ key: String, _ object: UnsafeRawPointer, _ metadata: UnsafeRawPointer??,
    encodedByteCount: Int
  ) -> CacheEntry {
    func entry<Object>(_ type: Object.Type) -> CacheEntry {
      func entry<Metadata>(_ metadataType: Metadata.Type) -> CacheEntry {
        let known: Metadata?? = unsafe metadata.map { unsafe $0?.assumingMemoryBound(to: metadataType).pointee }
        return unsafe CachedRow(
          place, rowID, key, object.assumingMemoryBound(to: type).pointee, known, types,
          encodedByteCount: encodedByteCount)
      }
      return _openExistential(self.metadata.type, do: entry)
    }
    return _openExistential(self.object.type, do: entry)
  }
}
