// What compression does for rows that machines really have: bytes in the file, and time to put and to get.

internal import ArgumentParser
internal import Foundation
internal import QuireDatabase
internal import QuireTesting

/// A package of an index as Debian has them.
private struct PackageRow: Codable, Sendable {
  var name = ""
  var version = ""
  var architecture = ""
  var section = ""
  var priority = ""
  var installedSize = 0
  var maintainer = ""
  var homepage: String?
  var summary = ""
  var dependencies: [String] = []
  var provides: [String] = []
  var tags: [String] = []
}

/// What an app keeps about a file.
private struct FileRow: Codable, Sendable {
  var path: String
  var size: Int
  var modified: Date
  var mode: Int
  var owner: String
  var group: String
}

/// Bytes that nothing can compress.
private struct NoiseRow: Codable, Sendable { var bytes: [UInt8] }

/// Rows of one type, with their keys.
private struct RowSet<Object: Codable & Sendable>: Sendable {
  let name: String
  let rows: [(key: String, object: Object)]
}

/// Measures compression on rows of several kinds.
struct ObjectCompression: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compression",
    abstract: "Measures what compression saves and costs, on a package index, on files, and on noise.",
    discussion: """
      The index is a text file as in /var/lib/apt/lists; make one with “apt-cache dumpavail > packages.txt”. The files \
      are those below a folder, such as /usr.
      """)

  @Option(help: "A package index in plain text; left out, that part is.")
  var index: String?
  @Option(help: "The folder whose files are the rows of the second part.")
  var files = "/usr"
  @Option(help: "The most rows of each kind.")
  var count = 70_000
  @Option(help: "Alternating runs.")
  var runs = 5

  func run() throws {
    print("| rows | compression | file | put | get | walk |")
    print("|---|---|---|---|---|---|")
    if let index { try measure(try packages(index)) }
    try measure(fileRows())
    try measure(noise())
  }

  // MARK: Rows

  private func packages(_ path: String) throws -> RowSet<PackageRow> {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var rows: [(String, PackageRow)] = []
    for stanza in text.split(separator: "\n\n") {
      var fields: [Substring: String] = [:]
      for line in stanza.split(separator: "\n") where line.first != " " && line.first != "\t" {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2 { fields[parts[0]] = parts[1].trimmingCharacters(in: .whitespaces) }
      }
      func list(_ name: Substring) -> [String] {
        fields[name]?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
      }
      guard let name = fields["Package"] else { continue }
      let row = PackageRow(
        name: name, version: fields["Version"] ?? "", architecture: fields["Architecture"] ?? "",
        section: fields["Section"] ?? "", priority: fields["Priority"] ?? "",
        installedSize: fields["Installed-Size"].flatMap { Int($0) } ?? 0, maintainer: fields["Maintainer"] ?? "",
        homepage: fields["Homepage"], summary: fields["Description"] ?? "", dependencies: list("Depends"),
        provides: list("Provides"), tags: list("Tag"))
      rows.append((name, row))
      if rows.count == count { break }
    }
    return RowSet(name: "packages", rows: rows)
  }

  private func fileRows() -> RowSet<FileRow> {
    var rows: [(String, FileRow)] = []
    let found = FileManager.default.enumerator(atPath: files)
    while rows.count < count, let name = found?.nextObject() as? String {
      let path = "\(files)/\(name)"
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { continue }
      let row = FileRow(
        path: path, size: (attributes[.size] as? NSNumber)?.intValue ?? 0,
        modified: attributes[.modificationDate] as? Date ?? .distantPast,
        mode: (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0,
        owner: attributes[.ownerAccountName] as? String ?? "",
        group: attributes[.groupOwnerAccountName] as? String ?? "")
      rows.append(("f\(1_000_000 + rows.count)", row))
    }
    return RowSet(name: "files", rows: rows)
  }

  private func noise() -> RowSet<NoiseRow> {
    var random = SeededRandom(seed: 1)
    let rows = (0..<count).map { index in
      ("n\(1_000_000 + index)", NoiseRow(bytes: (0..<400).map { _ in UInt8(truncatingIfNeeded: random.next()) }))
    }
    return RowSet(name: "noise", rows: rows)
  }

  // MARK: Measuring

  private static let kinds: [(String, Compression)] = [
    ("none", .none), ("LZ4 above 256", .lz4(above: 256)), ("dictionary above 64", .dictionary(above: 64)),
    ("dictionary above 128", .dictionary(above: 128)), ("dictionary above 200", .dictionary(above: 200)),
    ("dictionary above 256", .dictionary(above: 256)),
  ]

  private struct Figures {
    var put: [Double] = []
    var get: [Double] = []
    var walk: [Double] = []
    var bytes = 0
  }

  private func measure<Object>(_ set: RowSet<Object>) throws {
    var figures = Self.kinds.map { _ in Figures() }
    for run in 0..<runs {
      let order = Array(Self.kinds.indices)
      for kind in run % 2 == 0 ? order : order.reversed() {
        try measure(set, Self.kinds[kind].1, &figures[kind])
      }
    }
    for (kind, figure) in zip(Self.kinds, figures) {
      print(
        "| \(set.rows.count) \(set.name) | \(kind.0) | \(rounded(Double(figure.bytes) / 1e6)) MB "
          + "| \(rounded(median(figure.put) / 1000)) µs | \(rounded(median(figure.get) / 1000)) µs "
          + "| \(rounded(median(figure.walk) / 1000)) µs |")
    }
  }

  private func measure<Object: Codable & Sendable>(
    _ set: RowSet<Object>, _ compression: Compression, _ figures: inout Figures
  ) throws {
    let folder = FileManager.default.temporaryDirectory.path + "/quire-compression-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let collection = RowCollection<Object, NoMetadata>("rows", compression: compression)
    let db = try Database(at: "\(folder)/db", options: .init(durability: .relaxed))
    let rows = set.rows
    let putting = Clocks.process()
    for start in stride(from: 0, to: rows.count, by: 1000) {
      try db.write { tx throws in
        for row in rows[start..<min(start + 1000, rows.count)] { try tx[collection].set(row.object, for: row.key) }
      }
    }
    figures.put.append(Double(Clocks.process() - putting) / Double(rows.count))
    try db.checkpoint()
    try db.compact()
    var random = SeededRandom(seed: 2)
    let keys = rows.map(\.key).shuffled(using: &random)
    let getting = Clocks.thread()
    let found = try db.read { tx throws in try keys.reduce(0) { $0 + (try tx[collection].get($1) == nil ? 0 : 1) } }
    figures.get.append(Double(Clocks.thread() - getting) / Double(rows.count))
    try expect(found == rows.count, "rows are missing")
    let walking = Clocks.thread()
    let walked = try db.read { tx throws in tx[collection].rows.reduce(0) { sum, _ in sum + 1 } }
    figures.walk.append(Double(Clocks.thread() - walking) / Double(rows.count))
    try expect(walked == Set(keys).count, "rows are missing in the walk")
    try db.close()
    figures.bytes = byteCount(of: folder)
  }

  private func rounded(_ number: Double) -> String { String(format: "%.2f", number) }
}
