// Inputs that are bytes of files: meta pages, logs, and whole data files.

import QuireStorage
import QuireTesting

/// Uses inputs as parts of the files of a database.
///
/// The first byte of a meta page or a log says which base it belongs to; a data file stands by itself.
struct FileInput {
  let target: FuzzTarget

  private static let pageSize = FileBase.pageSize
  private static let path = TinyDatabase.path

  // MARK: Running

  /// Installs the bytes, and does all there is to do with the files.
  func run(_ bytes: [UInt8]) throws {
    var exercise = StorageExercise(disk: try disk(of: bytes), random: choices(of: bytes))
    try exercise.run()
  }

  private func disk(of bytes: [UInt8]) throws -> SimulatedDisk {
    switch target {
    case .meta:
      let disk = try base(of: bytes).disk.copy()
      disk.overwrite(Array(bytes.dropFirst().prefix(2 * Self.pageSize)), at: 0, of: Self.path)
      return disk
    case .log:
      let base = try base(of: bytes)
      let disk = base.disk.copy()
      LogForger(meta: base.meta).install(Array(bytes.dropFirst()), on: disk)
      return disk
    default:
      let disk = SimulatedDisk()
      disk.install(bytes, at: Self.path)
      return disk
    }
  }

  private func base(of bytes: [UInt8]) throws -> FileBase {
    let bases = try bases()
    return bases[Int(bytes.first ?? 0) % bases.count]
  }

  private func bases() throws -> [FileBase] {
    let all = try FileBase.all.get()
    return target == .log ? all.filter { !$0.meta.isComplete } : all
  }

  // MARK: Seeds

  /// The parts of each base as they are.
  func seeds() throws -> [(name: String, bytes: [UInt8])] {
    var seeds: [(name: String, bytes: [UInt8])] = []
    for (number, base) in try bases().enumerated() {
      let first = [UInt8(number)]
      switch target {
      case .meta: seeds.append((base.name, first + base.data.prefix(2 * Self.pageSize)))
      case .log: seeds.append((base.name, first + (try LogForger(meta: base.meta).bytes(on: base.disk))))
      default: if base.meta.isComplete { seeds.append((base.name, base.data)) }
      }
    }
    return seeds
  }

  // MARK: Mutations

  /// Changes a part, and mends the checksums three times of four.
  func mutate(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    if mutation.isOneIn(10) { return mutation.whole(bytes) }
    return switch target {
    case .meta: mutateMeta(bytes, &mutation)
    case .log: mutateLog(bytes, &mutation)
    default: mutateFile(bytes, &mutation)
    }
  }

  private func mutateMeta(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    guard bytes.count == 1 + 2 * Self.pageSize else { return mutation.whole(bytes) }
    // Where there is something: the rest of a meta page is zero.
    let slot = 1 + Self.pageSize * mutation.random.below(2)
    let piece = mutation.piece(of: slot + 16..<slot + 344, atMost: 24)
    var bytes = mutation.part(piece, of: bytes, keepsLength: true)
    if mutation.isOneIn(4) {
      let other = slot == 1 ? slot + Self.pageSize : 1
      bytes.replaceSubrange(other + 16..<other + Self.pageSize, with: bytes[slot + 16..<slot + Self.pageSize])
    }
    guard mutation.mends() else { return bytes }
    var pages = Array(bytes.dropFirst())
    Forger.resealMetaPages(&pages, pageSize: Self.pageSize)
    return bytes.prefix(1) + pages
  }

  private func mutateLog(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    guard let base = try? base(of: bytes) else { return mutation.whole(bytes) }
    let forger = LogForger(meta: base.meta)
    var log = Array(bytes.dropFirst())
    let offsets = forger.recordOffsets(in: log)
    guard !offsets.isEmpty else { return mutation.whole(bytes) }
    let index = mutation.random.below(offsets.count)
    let start = offsets[index]
    let end = min(log.count, index + 1 < offsets.count ? offsets[index + 1] : log.count)
    let body = start + LogLayout.headerByteCount..<max(start + LogLayout.headerByteCount, end - 8)
    switch mutation.random.below(10) {
    case 0: log.removeSubrange(start..<end)
    case 1: log.insert(contentsOf: log[start..<end], at: start)
    case 2, 3: log = mutation.part(mutation.piece(of: start..<start + 56, atMost: 8), of: log, keepsLength: true)
    case 4, 5:
      // A body of another length, with its length in the header.
      var changed = mutation.part(0..<body.count, of: Array(log[body]))
      let count = changed.count
      changed += [UInt8](repeating: 0, count: LogLayout.align(count, to: 8) - count)
      log.replaceSubrange(body, with: changed)
      withUnsafeBytes(of: UInt32(count).littleEndian) { log.replaceSubrange(start + 4..<start + 8, with: $0) }
    default: log = mutation.part(mutation.piece(of: body, atMost: 32), of: log, keepsLength: true)
    }
    if mutation.mends() { forger.reseal(&log) }
    return Array((bytes.prefix(1) + log).prefix(mutation.limit))
  }

  private func mutateFile(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    let pageCount = bytes.count / Self.pageSize
    guard pageCount > 2, forger(of: bytes) != nil else { return mutation.whole(bytes) }
    var bytes = bytes
    for _ in 0...mutation.random.below(3) {
      let start = mutation.random.below(pageCount) * Self.pageSize
      switch mutation.random.below(8) {
      case 0, 1, 2:
        if var forger = forger(of: bytes) {
          _ = mutation.isOneIn(3) ? forger.mutateExtent(&mutation.random) : forger.mutate(&mutation.random)
          bytes = forger.bytes
        }
      case 3: bytes = mutation.part(start..<start + Self.pageSize, of: bytes, keepsLength: true)
      default:
        // The header and the arrays behind it decide most.
        let page = start..<start + (mutation.isOneIn(2) ? 128 : Self.pageSize)
        bytes = mutation.part(mutation.piece(of: page, atMost: 16), of: bytes, keepsLength: true)
      }
    }
    guard mutation.mends() else { return bytes }
    Forger.resealMetaPages(&bytes, pageSize: Self.pageSize)
    // A meta page that says something impossible is none that pages could be sealed for.
    if var forger = forger(of: bytes) {
      forger.seal()
      bytes = forger.bytes
    }
    return bytes
  }

  /// A forger that knows the pages of a file; nil if no meta page verifies, or if it says that pages are larger.
  private func forger(of bytes: [UInt8]) -> Forger? {
    guard let forger = Forger(bytes, pageSize: Self.pageSize), forger.pageSize == Self.pageSize else { return nil }
    return forger
  }
}
