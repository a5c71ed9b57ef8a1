// The row that a walk through stored rows has come to.

/// Lends the rows of a collection, one after the other, without knowing their types: what costs each row of a scan
/// something is compiled once for all.
///
/// One thread at a time. Invariant: outside of a walk no row is lent, and `fields` has no bytes.
@safe final class RowLoan {
  /// How many rows are decoded whole before fields are read.
  private static let wholeRowCount = 16
  /// Of so many rows one is decoded whole after that: often at first, as a promise that is broken is so for most rows,
  /// and then each time less often by this. A prime, as what rows hold may repeat itself with their numbers.
  private static let checkStep = 61
  private static let mostCheckInterval = 16 * checkStep

  let opened: OpenedCollection
  let fields: StoredFields
  /// What of the rows is noted to be read.
  let halves: RowHalves
  private let protections: RowProtections
  /// Whether there is a field that is read, or may be one day.
  @exclusivity(unchecked) var isWorthwhile = false
  @exclusivity(unchecked) private var rowsUntilCheck = RowLoan.wholeRowCount
  @exclusivity(unchecked) private var checkInterval = 0
  /// The row's number, its bytes, and those of its object.
  @exclusivity(unchecked) private(set) var rowID = RowID(0)
  @exclusivity(unchecked) private var rowBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  @exclusivity(unchecked) private(set) var objectBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  /// Whether a row is lent.
  var isLent: Bool { unsafe rowBytes.baseAddress != nil }
  /// A box with its object, if that was decoded.
  @exclusivity(unchecked) var object: AnyObject?

  init(_ opened: OpenedCollection, _ protections: RowProtections, _ fields: StoredFields, _ halves: RowHalves) {
    self.opened = opened
    self.protections = protections
    self.fields = fields
    self.halves = halves
  }

  /// The rows that are lent.
  enum Source {
    /// Those of the collection, or those of them above a number, in the order of their numbers.
    case all(above: RowID?)
    /// Some, in the order given.
    case listed([RowID])
    /// What an extension is built from; of it only the rows with some numbers, which ascend, if there is a list.
    case unbuilt(UnbuiltRows, [RowID]?)
  }

  /// Lends rows until `body` returns false; what is unbuilt, to the end.
  ///
  /// - Parameter check: decodes the row that is lent, and compares its fields.
  func forEachRow(
    of source: Source, check: () throws -> Void, _ body: (RowID, StoredFields) throws -> Bool
  ) throws {
    // The state of a transaction that is over may be another one's.
    try opened.check()
    let fields = fields
    fields.refresh()
    defer { endLoan() }
    var failure: (any Error)?
    do {
      switch (source, opened.id) {
      case (.listed(let rowIDs), _): try lend(rowIDs, fields, check, body, &failure)
      case (_, nil): opened.noteRead(nil, [])
      case (.unbuilt(let rows, let rowIDs), let id?):
        var next = 0
        try unsafe rows.forEachRow(of: id, opened.name) { rowID, row, frame in
          if let rowIDs {
            while next < rowIDs.count, rowIDs[next] < rowID { next += 1 }
            guard next < rowIDs.count, rowIDs[next] == rowID else { return }
          }
          _ = try unsafe lend(rowID, row, frame, fields, check, body, &failure)
        }
      case (.all(let bound), let id?):
        opened.transaction.recorder?.noteAll(of: opened.name, halves)
        if try isMostOfDatabase() {
          try unsafe walkThroughRows(of: id, above: bound) { rowID, row, frame in
            try unsafe lend(rowID, row, frame, fields, check, body, &failure)
          }
        } else {
          var rowIDs = try opened.rowIDs(.all)
          if let bound { rowIDs.removeAll { $0 <= bound } }
          try lend(rowIDs.sorted(), fields, check, body, &failure)
        }
      }
    } catch {
      throw failure ?? opened.failure(error, nil)
    }
  }

  /// Lends some rows.
  private func lend(
    _ rowIDs: [RowID], _ fields: StoredFields, _ check: () throws -> Void,
    _ body: (RowID, StoredFields) throws -> Bool, _ failure: inout (any Error)?
  ) throws {
    try unsafe lookUpRows(rowIDs) { rowID, row, frame in
      try unsafe lend(rowID, row, frame, fields, check, body, &failure)
    }
  }

  /// Lends a row; sets `failure` to what `body` throws, which is no error of the row's.
  @inline(__always)
  private func lend(
    _ rowID: RowID, _ row: UnsafeRawBufferPointer, _ frame: RowFrame, _ fields: StoredFields,
    _ check: () throws -> Void, _ body: (RowID, StoredFields) throws -> Bool, _ failure: inout (any Error)?
  ) throws -> Bool {
    unsafe (self.rowID, rowBytes) = (rowID, row)
    if unsafe object != nil { unsafe object = nil }
    // A plain value stands behind its tag.
    guard frame.objectOffset < row.count, unsafe row[frame.objectOffset] == 0, unsafe protections.object == nil else {
      return try lendUnpacked(rowID, fields, check, body, &failure)
    }
    unsafe objectBytes = UnsafeRawBufferPointer(rebasing: row[(frame.objectOffset &+ 1)...])
    try prepare(fields, check)
    do { return try body(rowID, fields) } catch {
      failure = error
      throw error
    }
  }

  /// Lends a row whose object has to be decompressed or decrypted.
  @inline(never) private func lendUnpacked(
    _ rowID: RowID, _ fields: StoredFields, _ check: () throws -> Void,
    _ body: (RowID, StoredFields) throws -> Bool, _ failure: inout (any Error)?
  ) throws -> Bool {
    let (view, key) = try viewAndKey()
    var goesOn = false
    try unsafe opened.withObject(of: view, key, protections) { bytes, _ in
      unsafe objectBytes = unsafe bytes
      try prepare(fields, check)
      do { goesOn = try body(rowID, fields) } catch {
        failure = error
        throw error
      }
    }
    return goesOn
  }

  /// Has the fields of the row read, and checks them from time to time.
  @inline(__always) private func prepare(_ fields: StoredFields, _ check: () throws -> Void) throws {
    guard unsafe isWorthwhile else { return }
    unsafe rowsUntilCheck &-= 1
    if unsafe rowsUntilCheck < 0 {
      unsafe checkInterval = min(checkInterval + Self.checkStep, Self.mostCheckInterval)
      unsafe rowsUntilCheck = checkInterval - 1
      try check()
    } else {
      unsafe fields.begin(objectBytes)
    }
  }

  private func endLoan() {
    fields.end()
    unsafe rowBytes = UnsafeRawBufferPointer(start: nil, count: 0)
    unsafe objectBytes = UnsafeRawBufferPointer(start: nil, count: 0)
    unsafe object = nil
  }

  /// The parts of the row that is lent, and its key.
  func viewAndKey() throws -> (RowView, key: String) {
    let view = try unsafe RowView(rowBytes)
    guard let key = unsafe String(storedUTF8: view.key) else { throw RowView.damaged() }
    return (view, key)
  }
}
