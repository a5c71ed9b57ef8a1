// What stores say of a file in which one bit has turned over.

internal import ArgumentParser
internal import Foundation
internal import QuireTesting

/// `quire-bench rot`: flips single bits of the files of each store, and has a process open and read what is left.
struct RotBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rot",
    abstract: "Flips bits in the files of each store, and counts who says so.",
    discussion: """
      A trial is one bit, drawn from all bytes of a store that was compacted and closed, and a process of its own, \
      which opens the store as for the tables and reads all rows. It tells of an error, gives the rows as they were \
      put, gives others without a word, dies, or does not end.
      """)

  @Option(help: "Rows of 24 + 150 bytes in each store.")
  var rows = 2000
  @Option(help: "Bits that are flipped in each store, one at a time.")
  var trials = 1000
  @Option(help: "The seed of rows and bits.")
  var seed: UInt64 = 1
  @Option(help: "Stores to try, separated by commas; all that are installed if left out.")
  var stores: String?

  func validate() throws {
    guard rows > 0, trials > 0 else { throw ValidationError("--rows and --trials must be positive.") }
  }

  func run() throws {
    let names = stores.map { $0.split(separator: ",").map(String.init) }
    let kinds = Peer.installedStores.filter { names?.contains($0.name) ?? true }
    guard !kinds.isEmpty else { throw ValidationError("No store is called \(stores ?? "").") }
    print("| store | \(RotEnd.allCases.map(\.title).joined(separator: " | ")) |")
    print("|---|\(RotEnd.allCases.map { _ in "--:" }.joined(separator: "|"))|")
    try withWorkDirectory(nil) { folder in
      for kind in kinds {
        let ends = try RotRun(kind, folder, rows: rows, seed: seed).ends(trials)
        print("| \(kind.name) | \(RotEnd.allCases.map { "\(ends[$0] ?? 0)" }.joined(separator: " | ")) |")
        fflush(nil)
      }
    }
  }
}

/// A few trials of Quire's: none may give other rows, end the process or go on for ever.
func checkRot(in folder: String) throws {
  let ends = try RotRun(QuireStore.self, folder + "/rot", rows: 200, seed: 1).ends(20)
  guard Set(ends.keys).isSubset(of: [.told, .right]), ends[.told] != nil else {
    throw StoreFailure(description: "flipped bits end in \(ends)")
  }
  print("rot: in order")
}

/// How a trial ends.
enum RotEnd: String, CaseIterable {
  case told, right, wrong, died, hung

  /// The head of its column.
  var title: String {
    switch self {
    case .told: "an error"
    case .right: "the rows as they were"
    case .wrong: "other rows, without a word"
    case .died: "the process died"
    case .hung: "no end"
    }
  }
}

/// One store and its trials.
private struct RotRun {
  private let kind: any StoreUnderTest.Type
  private let rows: Int
  private let seed: UInt64
  private let honest: String
  private let place: String
  /// The files of the store, with their lengths.
  private let files: [(name: String, byteCount: Int)]

  /// Seconds after which a process is taken to read for ever.
  private static let limit = 20

  init(_ kind: any StoreUnderTest.Type, _ folder: String, rows: Int, seed: UInt64) throws {
    (self.kind, self.rows, self.seed) = (kind, rows, seed)
    honest = "\(folder)/\(kind.name)"
    place = "\(folder)/\(kind.name)-trial"
    try FileManager.default.createDirectory(atPath: honest, withIntermediateDirectories: true)
    let store = try kind.init(directory: honest, options: RotChild.options)
    let block = RowBlock(count: rows, seed: seed)
    try store.put(block, 0..<rows, perTransaction: 100)
    // What is in tables has been written with whatever care the store takes, and little of the files means nothing.
    try store.settle()
    try store.compact()
    try store.close()
    files = try FileManager.default.subpathsOfDirectory(atPath: honest).sorted().compactMap { [honest] name in
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(honest)/\(name)")
      guard attributes[.type] as? FileAttributeType == .typeRegular else { return nil }
      return (name, (attributes[.size] as? Int) ?? 0)
    }
    let untouched = try end()
    guard untouched == .right else { throw StoreFailure(description: "\(kind.name) without a flip: \(untouched)") }
  }

  /// Flips as many bits, one at a time; how often which end came of it.
  func ends(_ trials: Int) throws -> [RotEnd: Int] {
    var random = SeededRandom(seed: seed)
    let byteCount = files.reduce(0) { $0 + $1.byteCount }
    var ends: [RotEnd: Int] = [:]
    for _ in 0..<trials {
      let (offset, bit) = (random.below(byteCount), random.below(8))
      ends[try end(flipping: offset, bit), default: 0] += 1
    }
    return ends
  }

  /// Makes a copy, flips a bit of it, if one is given, and has a process read it.
  private func end(flipping offset: Int? = nil, _ bit: Int = 0) throws -> RotEnd {
    try? FileManager.default.removeItem(atPath: place)
    try FileManager.default.copyItem(atPath: honest, toPath: place)
    if let offset { try flip(offset, bit) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "timeout", "--kill-after=5", "\(Self.limit)", CommandLine.arguments[0], "rot-child", kind.name, place,
      "--rows", "\(rows)", "--seed", "\(seed)",
    ]
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    if [124, 137].contains(process.terminationStatus) { return .hung }
    return text.split(separator: "\n").last.flatMap { RotEnd(rawValue: String($0)) } ?? .died
  }

  private func flip(_ offset: Int, _ bit: Int) throws {
    var offset = offset
    for file in files {
      guard offset >= file.byteCount else {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: "\(place)/\(file.name)"))
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(offset))
        guard let byte = try handle.read(upToCount: 1)?.first else { return }
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data([byte ^ (1 << UInt8(bit))]))
        return
      }
      offset -= file.byteCount
    }
  }
}

/// Opens a store and reads all rows; the last word of its output is what came of it.
struct RotChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rot-child", abstract: "Reads a store in which a bit was flipped.", shouldDisplay: false)

  static let options = StoreOptions(cacheSize: 16 << 20, durability: .relaxed, tidiesWhenIdle: false)

  @Argument(help: "The store.")
  var store: String
  @Argument(help: "The folder of its files.")
  var folder: String
  @Option(help: "How many rows were put.")
  var rows: Int
  @Option(help: "The seed that they were made from.")
  var seed: UInt64

  func run() throws {
    let block = RowBlock(count: rows, seed: seed)
    var expected = Contents()
    for index in 0..<rows { expected.add(block.value(index)) }
    for kind in Peer.installedStores where kind.name == store {
      do {
        let store = try kind.init(directory: folder, options: Self.options)
        let found = try store.scan()
        print(found == expected ? RotEnd.right.rawValue : RotEnd.wrong.rawValue)
        fflush(nil)
        try store.close()
      } catch {
        print(RotEnd.told.rawValue)
      }
    }
  }
}
