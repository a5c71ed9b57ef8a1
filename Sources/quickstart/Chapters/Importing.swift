// Chapter: a file becomes typed rows.

import Foundation
import Quire

extension Chapter {
  /// Reads the index and stores its packages, in durable transactions of 1,000.
  static let importing = Chapter(
    title: "Import: a text file becomes typed rows",
    code: """
      struct Package: Codable, Hashable, Sendable {
        var name: String
        var version: String
        …
      }
      extension RowCollection where Object == Package, Metadata == ImportState {
        static var packages: Self { .init("packages") }
      }

      try db.write { tx in
        try tx[.packages].load(batch.lazy.map { ($0.name, $0, $1) })
      }
      """
  ) { tour in
    let db = try tour.openDatabase()
    let counts = try PackageImport(tour).run(db)
    tour.screen.done(
      "\(text(counts.packages)) packages imported", "\(text(counts.commits)) durable commits",
      "\(text(counts.storing)), \(rate(counts.packages, "rows", in: counts.storing))",
      "parsed in \(text(counts.parsing))")
    if counts.replaced > 0 {
      tour.screen.note("\(text(counts.replaced)) of them took the place of another version of the same package.")
    }
    let (_, checkpoint) = try tour.timing { try db.checkpoint() }
    let encoded = try db.read { tx in
      tx.rawRows("packages").reduce(0) { $0 + $1.object.count + ($1.metadata?.count ?? 0) }
    }
    let sizes = try tour.fileSizes()
    tour.screen.done(
      "\(text(byteCount: counts.bytes)) of text, \(text(byteCount: encoded)) encoded",
      "\(text(byteCount: sizes.data)) on disk with LZ4 and key index", "checkpoint \(text(checkpoint))")
  }
}

/// The import of one index.
struct PackageImport {
  /// How many packages go into one transaction.
  static let batchCount = 1000

  /// What was imported.
  struct Counts {
    var packages = 0
    var replaced = 0
    var commits = 0
    var bytes = 0
    /// The time that went into the text, and into the database.
    var parsing = Duration.zero
    var storing = Duration.zero
  }

  private let tour: Tour

  init(_ tour: Tour) { self.tour = tour }

  /// Imports everything, with a progress bar.
  ///
  /// - Throws: `TourError` with the file and the line, for an index that cannot be read; what the database throws.
  func run(_ db: Database) throws -> Counts {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: tour.index))
    defer { try? file.close() }
    let attributes = try FileManager.default.attributesOfItem(atPath: tour.index)
    let total = (attributes[.size] as? NSNumber)?.intValue ?? 0
    var reader = ControlReader { try file.read(upToCount: 1 << 20).map { [UInt8]($0) } ?? [] }
    defer { tour.screen.endProgress() }
    var counts = Counts()
    while true {
      let (batch, parsing) = try tour.timing { try next(&reader) }
      if batch.isEmpty { break }
      let before = try db.read { tx in tx[.packages].count }
      let (_, storing) = try tour.timing {
        try db.write { tx in
          try tx[.packages].load(batch.lazy.map { ($0.name, $0, $1) })
        }
      }
      let after = try db.read { tx in tx[.packages].count }
      counts.packages += batch.count
      counts.replaced += batch.count - (after - before)
      counts.commits += 1
      counts.parsing += parsing
      counts.storing += storing
      counts.bytes = reader.byteCount
      tour.screen.progress(reader.byteCount, of: total, "\(text(counts.packages)) packages")
    }
    guard counts.packages > 0 else { throw TourError("\(tour.index): there is no package in it.") }
    return counts
  }

  /// The next packages; none at the end.
  private func next(_ reader: inout ControlReader) throws -> [(Package, ImportState)] {
    var batch: [(Package, ImportState)] = []
    let date = Date()
    do {
      while batch.count < Self.batchCount, let stanza = try reader.next() {
        batch.append((try Package(stanza), ImportState(status: .imported, line: stanza.line, date: date)))
      }
    } catch let error as ControlError {
      throw TourError("\(tour.index): \(error)")
    } catch let error as CocoaError {
      throw TourError("\(tour.index): cannot be read. \(error.localizedDescription)")
    }
    return batch
  }
}
