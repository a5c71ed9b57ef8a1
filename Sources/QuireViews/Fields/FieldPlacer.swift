// Groups and orders of stored rows, as their fields and keys tell them.

internal import QuireDatabase

/// What of a row tells the group that it is in.
enum ToldGroup<Object: Sendable>: Sendable {
  case always(String)
  /// A text of the object, which may be nil, and the same of a decoded object.
  case byField(any PartialKeyPath<Object> & Sendable, isOptional: Bool, @Sendable (Object) -> String?)

  var isField: Bool { if case .byField = self { true } else { false } }
}

/// What of a row tells its sort key.
enum ToldOrder<Object: Sendable>: Sendable {
  case byKey
  case byFields([SortField<Object>])

  var isFields: Bool { if case .byFields(let fields) = self { !fields.isEmpty } else { false } }
}

/// Places the rows of a collection by what their fields and keys tell. A row is decoded if it does not tell them.
///
/// For the thread and the life of a transaction.
struct FieldPlacer<Object: Sendable, Metadata: Sendable> {
  private let reader: FieldReader<Object, Metadata>
  private let maker: PlaceMaker

  /// Nil if rows of this type do not tell all of the fields.
  ///
  /// - Parameter makeGroup: gives the number of a group, which stays the same as long as this is used.
  init?(
    _ rows: ReadableRows<Object, Metadata>, _ group: ToldGroup<Object>, _ order: ToldOrder<Object>,
    makeGroup: @escaping (String) throws -> GroupID
  ) {
    let reader = FieldReader(rows)
    guard let group = Self.group(group, reader), let order = Self.order(order, reader) else { return nil }
    self.reader = reader
    maker = PlaceMaker(group, order, makeGroup)
  }

  private static func group(
    _ group: ToldGroup<Object>, _ reader: FieldReader<Object, Metadata>
  ) -> PlaceMaker.Group? {
    switch group {
    case .always(let name): PlaceMaker.Group(field: nil, isOptional: false) { name }
    case .byField(let path, let isOptional, let group):
      reader.add(path).map { field in
        PlaceMaker.Group(field: field, isOptional: isOptional) { try group(reader.object()) }
      }
    }
  }

  private static func order(
    _ order: ToldOrder<Object>, _ reader: FieldReader<Object, Metadata>
  ) -> [PlaceMaker.SortPart]? {
    switch order {
    case .byKey: return [PlaceMaker.SortPart(field: nil, isDescending: false) { try reader.key().append(to: &$0) }]
    case .byFields(let fields):
      let parts = fields.compactMap { part in
        reader.add(part.path).map { field in
          PlaceMaker.SortPart(field: field, isDescending: part.isDescending) {
            part.append(try reader.object(), &$0)
          }
        }
      }
      return parts.count == fields.count ? parts : nil
    }
  }

  /// Calls `body` with number, group and sort key of those rows of a step of building that are in a group.
  func forEachPlace(in rows: UnbuiltRows, _ body: (RowID, GroupID, [UInt8]) throws -> Void) throws {
    let maker = maker
    try reader.forEachRow(in: rows) { rowID, fields in try maker.withPlace(of: rowID, fields, body) }
  }
}

/// Makes group and sort key of a row. Without the types of the rows, which code that is not compiled for them would ask
/// for at every step.
///
/// For one thread at a time.
private final class PlaceMaker {
  struct Group {
    /// What the reader calls the field.
    let field: Int?
    let isOptional: Bool
    /// The group, if the field does not tell it.
    let ask: () throws -> String?
  }

  struct SortPart {
    /// What the reader calls the field.
    let field: Int?
    let isDescending: Bool
    /// Appends the part, if the field does not tell it.
    let ask: (inout [UInt8]) throws -> Void
  }

  /// A group that was found by the bytes of its field; nil is none.
  private struct Known {
    let bytes: [UInt8]
    let group: GroupID?
  }

  /// Of a hash so many bits choose the place of a group.
  private static let placeBitCount = 6

  private let group: Group
  private let parts: [SortPart]
  private let makeGroup: (String) throws -> GroupID
  /// The last group for each of some hashes of bytes.
  @exclusivity(unchecked) private var known = [Known?](repeating: nil, count: 1 << placeBitCount)
  @exclusivity(unchecked) private var groupBytes: [UInt8] = []
  @exclusivity(unchecked) private var sortKey: [UInt8] = []

  init(_ group: Group, _ parts: [SortPart], _ makeGroup: @escaping (String) throws -> GroupID) {
    (self.group, self.parts, self.makeGroup) = (group, parts, makeGroup)
  }

  /// Calls `body` with a row's number, its group and its sort key, if it is in a group.
  func withPlace(
    of rowID: RowID, _ fields: StoredFields, _ body: (RowID, GroupID, [UInt8]) throws -> Void
  ) throws {
    guard let id = try groupID(fields) else { return }
    unsafe sortKey.removeAll(keepingCapacity: true)
    for part in parts {
      let start = unsafe sortKey.count
      let isTold = fields.hasValue(part.field) { value in
        unsafe value.withUnsafeBytes { unsafe sortKey.append(contentsOf: $0) }
        return true
      }
      if isTold == nil {
        try unsafe part.ask(&sortKey)
      } else if part.isDescending {
        // As `Descending` does it.
        for index in unsafe start..<sortKey.count { unsafe sortKey[index] = ~sortKey[index] }
      }
    }
    try unsafe body(rowID, id, sortKey)
  }

  private func groupID(_ fields: StoredFields) throws -> GroupID? {
    unsafe groupBytes.removeAll(keepingCapacity: true)
    let isTold = fields.hasValue(group.field) { value in
      unsafe value.withUnsafeBytes { unsafe groupBytes.append(contentsOf: $0) }
      return true
    }
    guard isTold != nil else { return try group.ask().map(makeGroup) }
    let bytes = unsafe groupBytes
    // FNV-1a, of which the upper bits are the best.
    let hash = bytes.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    let place = Int(hash >> UInt64(64 - Self.placeBitCount))
    if let found = unsafe known[place], found.bytes == bytes { return found.group }
    guard let name = group.isOptional ? String?.fromSortBytes(bytes) : String.fromSortBytes(bytes) else {
      return try group.ask().map(makeGroup)
    }
    let id = try name.map(makeGroup)
    unsafe known[place] = Known(bytes: bytes, group: id)
    return id
  }
}
