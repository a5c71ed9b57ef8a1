// The value of a row as a feed tells it: stored halves, and what it takes to read them.

internal import QuireStorage

/// The values that one change tells of.
final class FeedValues: Sendable {
  let new: FeedValue?
  let old: FeedValue?
  let context: FeedContext

  init(new: FeedValue?, old: FeedValue?, _ context: FeedContext) {
    self.new = new
    self.old = old
    self.context = context
  }
}

/// A row's halves in stored forms that need no dictionary.
struct FeedValue: Sendable {
  /// The bytes that both stand in.
  let bytes: [UInt8]
  let halves: FeedHalves
  /// The fields and coders that they were written with.
  let record: CollectionRecord

  /// The bytes of one half as they are stored; none if it is not there.
  private func stored(_ half: RowHalf) -> ArraySlice<UInt8> {
    half == .object ? bytes[halves.object] : halves.metadata.map { bytes[$0] } ?? []
  }

  /// A half, read without its type.
  func half(_ half: RowHalf, _ key: String, _ context: FeedContext) throws(DatabaseError) -> StoredHalf {
    let coder = half == .object ? record.coders.object : record.coders.metadata
    let contexts = record.takeContexts()
    defer { record.giveBack(contexts) }
    do {
      return try unsafe stored(half).withUnsafeBytes { stored in
        if unsafe SealedHeader.isSealed(stored) {
          let number = try unsafe SealedHeader(stored).keyID
          return StoredHalf(.encrypted(key: number), coder: CoderKind(coder))
        }
        let value = try unsafe ValueCompression.decode(stored.bytes)
        let coding = half == .object ? contexts.object : contexts.metadata
        return try StoredHalf(value, coder, coding)
      }
    } catch {
      throw DatabaseError.undecodable(half.name, context.path, record.name, key, error)
    }
  }

  /// A half with its type.
  func decode<Value>(
    _: Value.Type, _ half: RowHalf, _ coder: ValueCoder, _ key: String, _ context: FeedContext
  ) throws(DatabaseError) -> Value {
    let contexts = record.takeContexts()
    defer { record.giveBack(contexts) }
    let value = try encoded(half, coder.protection, key, context)
    let coding = half == .object ? contexts.object : contexts.metadata
    coding.userInfo = coder.userInfo
    do {
      return try unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room in
        guard let place = room.baseAddress else { preconditionFailure("there is no room for a value") }
        try unsafe value.withUnsafeBytes { bytes in
          try unsafe coder.decode(bytes, coding, key, into: UnsafeMutableRawPointer(place))
        }
        return unsafe place.move()
      }
    } catch {
      throw DatabaseError.undecodable(half.name, context.path, record.name, key, error)
    }
  }

  /// The bytes that the coder made.
  private func encoded(
    _ half: RowHalf, _ protection: RowProtection?, _ key: String, _ context: FeedContext
  ) throws(DatabaseError) -> [UInt8] {
    do {
      return try unsafe stored(half).withUnsafeBytes { stored in
        guard unsafe SealedHeader.isSealed(stored) else {
          guard protection?.acceptsPlain ?? true else { throw SealError.notSealed }
          return try unsafe ValueCompression.decode(stored.bytes)
        }
        let header = try unsafe SealedHeader(stored)
        guard let protection else { throw SealError.notExpected(header.keyID) }
        guard let salt = context.salt else { throw SealError.malformed }
        let place = SealingPlace(salt: salt, collection: record.id, half: half, key: key)
        let packed = try unsafe protection.open(stored, place)
        return try unsafe ValueCompression.decode(packed.span.bytes)
      }
    } catch let error as SealError {
      throw error.error(half, context.path, record.name, key)
    } catch {
      throw DatabaseError.undecodable(half.name, context.path, record.name, key, error)
    }
  }
}
