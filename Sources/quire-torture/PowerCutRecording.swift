// What `Tests/power-cuts.c` has recorded, and the files that a power cut at a moment of it may leave.

import QuireTesting

/// The records of one process, in their order; see `struct record` of the recorder.
struct PowerCutRecording {
  struct Record {
    let kind: Character
    let path: String
    let file: UInt64
    let offset: Int
    let bytes: [UInt8]
    let sync: UInt64
  }

  /// What becomes of changes that no sync covers.
  enum Manner: CaseIterable { case none, all, allButOne, onlyLast, drawn }

  /// A change of a file: bytes, a length, or a length that it has at least.
  private struct Change {
    let index: Int
    let record: Record
  }

  private(set) var records: [Record] = []

  /// Reads a log; a record that is cut off at the end is left out.
  init(_ log: [UInt8]) {
    func number(_ at: Int, _ count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(log[at + $1]) << (8 * $1) } }
    let headerCount = 40
    var at = 0
    while at + headerCount <= log.count {
      let pathEnd = at + headerCount + number(at + 4, 4)
      let end = pathEnd + number(at + 24, 8)
      guard end <= log.count else { return }
      records.append(
        Record(
          kind: Character(UnicodeScalar(log[at])),
          path: String(decoding: log[at + headerCount..<pathEnd], as: UTF8.self),
          file: UInt64(number(at + 8, 8)), offset: number(at + 16, 8), bytes: Array(log[pathEnd..<end]),
          sync: UInt64(number(at + 32, 8))))
      at = end
    }
  }

  /// All that was written to the file of marks before record `cut`.
  func marks(before cut: Int) -> [UInt8] { records[..<cut].flatMap { $0.kind == "m" ? $0.bytes : [] } }

  /// The files by path after a power cut before record `cut`. `isStrict`: only a sync of the folder keeps a new name;
  /// else a sync of the file does, too.
  func files(before cut: Int, _ manner: Manner, isStrict: Bool, _ random: inout SeededRandom) -> [String: [UInt8]] {
    var (inodes, changes): ([UInt64: Int], [[Change]]) = ([:], [])
    // Each is kept or not as a whole: a name, or the two of a renaming.
    var names: [(index: Int, file: Int?, paths: [String: Int?])] = []
    var (begun, synced, syncedFolders): ([UInt64: (Int, Int?)], [Int: Int], [String: Int]) = ([:], [:], [:])
    func file(_ number: UInt64, isNew: Bool) -> Int {
      if !isNew, let known = inodes[number] { return known }
      changes.append([])
      inodes[number] = changes.count - 1
      return changes.count - 1
    }
    for (index, record) in records[..<cut].enumerated() {
      switch record.kind {
      case "c", "l", "r":
        let file = file(record.file, isNew: record.kind == "c")
        var paths: [String: Int?] = record.kind == "r" ? [String(decoding: record.bytes, as: UTF8.self): .none] : [:]
        paths.updateValue(file, forKey: record.path)
        names.append((index, file, paths))
      case "u": names.append((index, nil, [record.path: .none]))
      case "w", "t", "a": changes[file(record.file, isNew: false)].append(Change(index: index, record: record))
      case "b": begun[record.sync] = (index, inodes[record.file])
      case "e":
        guard let (began, file) = begun[record.sync] else { continue }
        if let file {
          synced[file] = max(began, synced[file] ?? 0)
        } else {
          syncedFolders[record.path] = max(began, syncedFolders[record.path] ?? 0)
        }
      default: break
      }
    }
    var result: [String: Int?] = [:]
    for name in names {
      let path = name.paths.keys.first ?? ""
      let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
      let isKept =
        name.index < syncedFolders[folder] ?? 0 || !isStrict && name.file.map { name.index < synced[$0] ?? 0 } ?? false
        || manner == .all || manner != .none && random.oneIn(2)
      if isKept { result.merge(name.paths) { $1 } }
    }
    let pending = changes.enumerated().flatMap { file, all in all.map(\.index).filter { $0 >= synced[file] ?? 0 } }
    let chosen = manner == .onlyLast ? pending.max() : pending.isEmpty ? nil : pending[random.below(pending.count)]
    // Two names of a file have one content; in an order that does not depend on the process.
    var contents: [Int: [UInt8]] = [:]
    for file in Set(result.values.compactMap { $0 }).sorted() {
      contents[file] = content(of: changes[file], synced[file] ?? 0, manner, chosen, &random)
    }
    return result.compactMapValues { file in file.flatMap { contents[$0] } }
  }

  private func content(
    of changes: [Change], _ synced: Int, _ manner: Manner, _ chosen: Int?, _ random: inout SeededRandom
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    func setCount(_ count: Int) {
      if count < bytes.count { bytes.removeLast(bytes.count - count) }
      bytes.append(contentsOf: repeatElement(0, count: count - bytes.count))
    }
    for change in changes {
      var isTorn = false
      if change.index >= synced {
        switch manner {
        case .none: continue
        case .all: break
        case .allButOne: if change.index == chosen { continue }
        case .onlyLast: if change.index != chosen { continue }
        case .drawn:
          if random.oneIn(3) { continue }
          isTorn = random.oneIn(2)
        }
      }
      let (start, new) = (change.record.offset, change.record.bytes)
      switch change.record.kind {
      case "t": setCount(start)
      case "a": setCount(max(start, bytes.count))
      default:
        setCount(max(bytes.count, start + new.count))
        // A sector of 512 bytes is written or not.
        var isWritten = true
        for index in new.indices {
          if isTorn, index == 0 || (start + index) % 512 == 0 { isWritten = random.oneIn(2) }
          if isWritten { bytes[start + index] = new[index] }
        }
      }
    }
    return bytes
  }
}
