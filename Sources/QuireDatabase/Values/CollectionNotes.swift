// What a file notes of a collection beside its rows.

/// What a file notes of a collection beside its rows: by which coders its halves are written, and the names of fields
/// that binary rows have by number.
///
/// With it a collection can be made elsewhere in which the same bytes mean the same: see
/// ``WriteTransaction/values(in:as:)``.
public struct CollectionNotes: Hashable, Sendable {
  /// What is noted of one half.
  public struct Half: Hashable, Sendable {
    /// The kind of the coder; nil if none is noted, as of metadata that no row has.
    public var coder: CoderKind?
    /// Whether the coder is of a kind that tells no versions, and has upgrades all the same: its rows begin with one.
    public var hasUpgrades: Bool
    /// The names of fields, in the order of their numbers.
    public var fields: [String]

    /// Notes of a half.
    public init(coder: CoderKind? = nil, hasUpgrades: Bool = false, fields: [String] = []) {
      self.coder = coder
      self.hasUpgrades = hasUpgrades
      self.fields = fields
    }

    init(_ coder: StoredCoder, _ schema: RowSchema) {
      self.init(coder: CoderKind(coder), hasUpgrades: coder.hasVersions, fields: schema.names)
    }

    /// Whether coder and names are the same, the names to the byte.
    public static func == (left: Self, right: Self) -> Bool {
      left.coder == right.coder && left.hasUpgrades == right.hasUpgrades && left.fields.count == right.fields.count
        && zip(left.fields, right.fields).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    var storedCoder: StoredCoder {
      guard let coder else { return .unknown }
      return StoredCoder(coder.identity, hasUpgrades: hasUpgrades)
    }
  }

  /// Of the objects.
  public var object: Half
  /// Of the metadata.
  public var metadata: Half

  /// Notes of both halves.
  public init(object: Half = Half(), metadata: Half = Half()) {
    self.object = object
    self.metadata = metadata
  }

  var coders: StoredCoders { StoredCoders(object: object.storedCoder, metadata: metadata.storedCoder) }
}

extension ValueRows {
  /// What is noted of the collection; nothing of one that does not exist. O(names of fields).
  public var notes: CollectionNotes {
    let state = opened.state
    return CollectionNotes(
      object: .init(state.coders.object, state.contexts.object.schema),
      metadata: .init(state.coders.metadata, state.contexts.metadata.schema))
  }

  /// The halves of a row, with their bytes only where others would be made of what they say: to write what leads back
  /// to the same bytes, and no more.
  package func withNeededBytes(_ row: ValueRow) -> ValueRow {
    let state = opened.state
    return ValueRow(
      key: row.key, rowID: row.rowID, object: row.object.withNeededBytes(state.coders.object, state.contexts.object),
      metadata: row.metadata.map { $0.withNeededBytes(state.coders.metadata, state.contexts.metadata) })
  }
}

extension StoredHalf {
  fileprivate func withNeededBytes(_ noted: StoredCoder, _ context: RowCodingContext) -> StoredHalf {
    // A property list has its keys in an order that is another one in each run of a program.
    guard let encoded, coder != .propertyList,
      let made = try? newBytes(noted, context, hasFixedNames: true), made == encoded
    else { return self }
    return StoredHalf(content, version: version, coder: coder)
  }
}
