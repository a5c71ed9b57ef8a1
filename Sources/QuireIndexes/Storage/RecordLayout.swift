// What is kept of each row: the values of all columns, and which filtered indexes hold it.

internal import QuireDatabase

/// Which values the record of a row has, in which order.
struct RecordLayout<Object: Sendable, Metadata: Sendable>: Sendable {
  /// The distinct columns of all indexes, in the order in which they are named first.
  let columns: [Column<Object, Metadata>]
  /// For each index the places of its columns among these.
  let places: [[Int]]
  /// The conditions of the indexes.
  let filters: [Condition<Object, Metadata>.Node]
  private let needsMetadata: Bool
  private let needsObject: Bool

  init(_ indexes: [Index<Object, Metadata>]) {
    var columns: [Column<Object, Metadata>] = []
    places = indexes.map { index in
      index.columns.map { column in
        if let place = columns.firstIndex(where: { $0.id == column.column.id }) { return place }
        columns.append(column.column)
        return columns.count - 1
      }
    }
    self.columns = columns
    filters = indexes.map(\.filter)
    let isFiltered = filters.contains { !$0.conjuncts.isEmpty }
    needsMetadata = isFiltered || columns.contains { $0.id.half == .metadata }
    needsObject = isFiltered || columns.contains { $0.id.half == .object }
  }

  /// The halves of rows that records are made of.
  var halves: ChangedHalves {
    var halves: ChangedHalves = []
    if needsObject { halves.insert(.storedObject) }
    if needsMetadata { halves.insert(.storedMetadata) }
    return halves
  }

  /// The record of a changed row.
  func record(_ change: RowChange, in collection: RowCollection<Object, Metadata>) throws -> RowRecord? {
    guard let object = try change.object(in: collection) else { return nil }
    return try record(object, needsMetadata ? try change.metadata(in: collection) : nil)
  }

  func record(_ object: Object, _ metadata: Metadata?) throws -> RowRecord {
    var record = RowRecord(flags: try filters.map { try $0.isTrue(object, metadata) }, values: [])
    record.values.reserveCapacity(columns.count)
    for column in columns {
      switch column.id.kind {
      case .value: record.values.append([try column.value(of: object, metadata)])
      case .elements: record.values.append(try column.values(of: object, metadata))
      }
    }
    return record
  }

  /// The keys of a row in an index, in order; none if its condition leaves the row out.
  func keys(_ record: RowRecord, in index: Int, _ columns: [IndexColumn<Object, Metadata>], _ rowID: RowID) -> [[UInt8]]
  {
    guard record.flags[index] else { return [] }
    var keys: [[UInt8]] = [[]]
    for (place, column) in zip(places[index], columns) {
      let values = record.values[place].map { column.keyBytes($0) }
      keys = keys.flatMap { key in values.map { key + $0 } }
    }
    let number = rowID.orderedBytes
    // Elements that are the same as far as keys have them are one entry.
    var distinct: [[UInt8]] = []
    for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) where distinct.last != key { distinct.append(key) }
    return distinct.map { $0 + number }
  }

  /// Whether one of the values is none, which a unique index lets through.
  func hasAbsent(_ record: RowRecord, in index: Int) -> Bool {
    places[index].contains { place in record.values[place].contains { $0 == [0] } }
  }
}

/// The values of a row's columns: of a list each distinct element, in order.
struct RowRecord: Equatable {
  /// For each index whether it holds the row.
  var flags: [Bool]
  /// For each column its values.
  var values: [[[UInt8]]]

  /// The bytes: a bit for each index, then for each column the number of its values and each with its length in front;
  /// numbers as in LEB128.
  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (flags.count + 7) / 8)
    for (index, flag) in flags.enumerated() where flag { bytes[index / 8] |= 1 << UInt8(index % 8) }
    for column in values {
      Self.append(column.count, to: &bytes)
      for value in column {
        Self.append(value.count, to: &bytes)
        bytes += value
      }
    }
    return bytes
  }

  init(flags: [Bool], values: [[[UInt8]]]) {
    self.flags = flags
    self.values = values
  }

  /// Takes bytes apart; nil if they are no record of so many indexes and columns.
  init?(_ bytes: [UInt8], indexCount: Int, columnCount: Int) {
    let flagBytes = (indexCount + 7) / 8
    guard bytes.count >= flagBytes else { return nil }
    flags = (0..<indexCount).map { index in
      let bit: UInt8 = 1 << UInt8(index % 8)
      return bytes[index / 8] & bit != 0
    }
    values = []
    var rest = bytes[flagBytes...]
    for _ in 0..<columnCount {
      guard let count = Self.number(&rest), count <= rest.count else { return nil }
      var column: [[UInt8]] = []
      for _ in 0..<count {
        guard let length = Self.number(&rest), length <= rest.count else { return nil }
        column.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
      }
      values.append(column)
    }
    guard rest.isEmpty else { return nil }
  }

  private static func append(_ number: Int, to bytes: inout [UInt8]) {
    var rest = UInt(number)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private static func number(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    var (number, shift) = (0 as UInt64, 0 as UInt64)
    while let byte = bytes.popFirst() {
      guard shift < 35 else { return nil }
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return Int(number) }
      shift += 7
    }
    return nil
  }
}
