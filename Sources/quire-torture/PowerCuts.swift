// Power cuts under a real process: what it did to its files is recorded, and replayed as far as a disk may have come.

import ArgumentParser
import QuireStorage
import QuireTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// `quire-torture power-cuts`: what `Tests/power-cuts` runs.
struct PowerCuts: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "power-cuts",
    abstract: "Records what a process does to its files, and looks at what power cuts would leave of them.",
    discussion: "Ends with status 1 if an image lacks what was acknowledged, or if syncs that lie are not noticed.",
    shouldDisplay: false)

  @Argument(help: "A folder for databases; they are removed.")
  var folder: String
  @Option(help: "The library that records calls.")
  var library: String
  @Option(help: "How many images are looked at.")
  var images = 300
  @Option(help: "How many images are looked at of a process whose syncs do nothing.")
  var controls = 40
  @Option(help: "The seed of what is drawn.")
  var seed: UInt64 = 1

  @Option(help: "A recording that is there already, to be looked at instead of a new one.")
  var recording: String?
  @Option(help: "The number of the one image to look at.")
  var only: Int?

  func run() throws {
    if let recording {
      try report(PowerCutRecording(try Self.bytes(of: recording)), kept: recording)
      return
    }
    try report(try record([]), kept: log)
    let lying = try record(["QUIRE_RECORD_IGNORE=fdatasync"])
    let seen = try (0..<controls).filter { try judge(image($0, of: lying)) != nil }.count
    print("syncs that do nothing: noticed in \(seen) of \(controls) images")
    // Who notices nothing, finds nothing.
    if seen * 4 < controls { throw ExitCode.failure }
  }

  /// Looks at images of a recording, which is kept in a file.
  private func report(_ recording: PowerCutRecording, kept file: String) throws {
    var findings = 0
    for number in only.map({ $0..<$0 + 1 }) ?? 0..<images {
      let image = image(number, of: recording)
      guard let finding = try judge(image) else { continue }
      findings += 1
      print(
        """
        image \(number), \(image): \(finding)
          replay: quire-torture power-cuts FOLDER --library LIBRARY --recording \(file) --seed \(seed) --only \(number)
        """)
    }
    let acknowledged = Acknowledged(recording.marks(before: recording.records.count))
    print(
      """
      \(recording.records.count) records of a process with \(acknowledged.newest) acknowledged commits; \
      \(only == nil ? images : 1) images: \(findings) findings
      """)
    // Before another recording takes the place of this one.
    if findings > 0 { throw ExitCode.failure }
  }

  // MARK: Recording

  private var log: String { "\(folder)/log" }

  /// What a process did, in files of its own.
  private func record(_ settings: [String]) throws -> PowerCutRecording {
    try emptyFolder("\(folder)/recorded")
    unlink(log)
    let environment =
      settings + [
        "LD_PRELOAD=\(library)", "QUIRE_RECORD_FOLDER=\(folder)/recorded", "QUIRE_RECORD_LOG=\(log)",
        "QUIRE_RECORD_MARKS=\(folder)/marks",
      ]
    let child = runProgram(
      CommandLine.arguments[0], ["recorded-child", "\(folder)/recorded/db"], environment: environment,
      outputTo: "\(folder)/marks")
    let recording = PowerCutRecording(try Self.bytes(of: log))
    let said = String(decoding: recording.marks(before: recording.records.count), as: UTF8.self)
    guard child?.signal == 0, said.hasSuffix("done\n") else {
      throw ValidationError("the process that is recorded did not come to its end: \(said.suffix(400))")
    }
    return recording
  }

  private static func bytes(of path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY)
    guard file >= 0 else { throw ValidationError("\(path): \(String(cString: strerror(errno)))") }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(file, &chunk, chunk.count)
      if count <= 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }

  // MARK: Images

  /// A moment, and the files as the disk had them by then.
  private struct Image: CustomStringConvertible {
    let place: Int
    let manner: PowerCutRecording.Manner
    let isStrict: Bool
    let files: [String: [UInt8]]
    let acknowledged: Acknowledged

    var description: String { "record \(place), \(manner) of what no sync covers\(isStrict ? ", strict" : "")" }
  }

  /// The image of a number; the same one for the same recording and seed.
  private func image(_ number: Int, of recording: PowerCutRecording) -> Image {
    var random = SeededRandom(seed: seed)
    random = SeededRandom(seed: random.next() &+ UInt64(number))
    let manners = PowerCutRecording.Manner.allCases
    // Each second one is drawn: of these there are the most.
    let manner = number % 2 == 0 ? .drawn : manners[(number / 2) % manners.count]
    let (place, isStrict) = (1 + random.below(recording.records.count), random.oneIn(2))
    return Image(
      place: place, manner: manner, isStrict: isStrict,
      files: recording.files(before: place, manner, isStrict: isStrict, &random),
      acknowledged: Acknowledged(recording.marks(before: place)))
  }

  /// Writes the files that a power cut leaves, and opens them. What is not as it has to be, or nil.
  ///
  /// - Throws: what keeps the files from being written, which is no finding.
  private func judge(_ image: Image) throws -> String? {
    let target = "\(folder)/image"
    try emptyFolder(target)
    for (path, bytes) in image.files {
      try Self.write(bytes, to: "\(target)/\(path.split(separator: "/").last ?? "")")
    }
    do { return try check("\(target)/db", image.acknowledged) } catch { return "\(error)" }
  }

  private func check(_ path: String, _ acknowledged: Acknowledged) throws -> String? {
    let engine = try StorageEngine(at: path)
    defer { try? engine.close() }
    let counter = try engine.read { tx -> Int64 in
      guard let tree = tx.tree(named: "t") else { return 0 }
      try KillChild.check(tx, tree)
      return try KillChild.counter(tx, tree)
    }
    if counter < acknowledged.newest { return "\(acknowledged.newest) was acknowledged, and \(counter) is there" }
    try engine.verify()
    let tree = try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
    if try KillChild.commitNext(engine, tree) != counter + 1 { return "it does not go on where it was" }
    for half in 0..<2 {
      let copy = "\(path)-backup\(half)"
      guard access(copy, F_OK) == 0 else {
        if acknowledged.backups.contains(half) { return "backup \(half) was done, and is not there" }
        continue
      }
      let backup = try StorageEngine(at: copy, options: StorageOptions(isReadOnly: true))
      defer { try? backup.close() }
      try backup.verify()
      try backup.read { tx in if let tree = tx.tree(named: "t") { try KillChild.check(tx, tree) } }
    }
    return nil
  }

  /// What the process had said by then.
  private struct Acknowledged {
    private(set) var newest: Int64 = 0
    private(set) var backups: Set<Int> = []

    init(_ marks: [UInt8]) {
      for line in String(decoding: marks, as: UTF8.self).split(separator: "\n") {
        let words = line.split(separator: " ")
        guard words.count == 2, let number = Int64(words[1]) else { continue }
        // Threads say so in another order than that of their commits.
        if words[0] == "acknowledged" { newest = max(newest, number) }
        if words[0] == "backup" { backups.insert(Int(number)) }
      }
    }
  }

  // MARK: Files

  private func emptyFolder(_ path: String) throws {
    mkdir(path, 0o700)
    guard let entries = opendir(path) else { throw ValidationError("\(path): \(String(cString: strerror(errno)))") }
    defer { closedir(entries) }
    while let entry = readdir(entries) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { unlink("\(path)/\(name)") }
    }
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { throw ValidationError("\(path): \(String(cString: strerror(errno)))") }
    defer { close(file) }
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        let rest = UnsafeRawBufferPointer(rebasing: $0[done...])
        return pwrite(file, rest.baseAddress, rest.count, off_t(done))
      }
      guard count > 0 else { throw ValidationError("\(path): \(String(cString: strerror(errno)))") }
      done += count
    }
  }
}
