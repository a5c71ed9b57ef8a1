// How much of a write-ahead log of SQLite's can be read: SQLite itself passes over the rest without a word.

import Foundation

/// A look through a write-ahead log, by the form that SQLite documents ("The Write-Ahead Log", file format, section 4).
///
/// Behind a header of 32 bytes come frames of 24 bytes and a page each. A frame counts if it has the header's salts and
/// its checksum goes on from the frame before; frames of an earlier round of the log have other salts, and stand behind
/// all those of this one.
struct WriteAheadLog {
  /// Whether the header is in order; without it nothing of the log counts.
  private(set) var isReadable = false
  /// Frames of the log's present round behind its last commit that counts.
  private(set) var lostFrameCount = 0
  private var sums: (UInt32, UInt32) = (0, 0)
  private var isBigEndian = false

  private static let headerByteCount = 32
  private static let frameHeaderByteCount = 24

  /// Reads the log at `path`.
  init(_ path: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw ImportError("\(path) cannot be opened: its owner must permit that it is read.")
    }
    defer { try? file.close() }
    func bytes(_ count: Int) throws -> [UInt8] { [UInt8](try file.read(upToCount: count) ?? Data()) }
    let header = try bytes(Self.headerByteCount)
    guard header.count == Self.headerByteCount, Self.number(header, 0) & ~1 == 0x377f_0682 else { return }
    isBigEndian = Self.number(header, 0) & 1 == 1
    let pageByteCount = Int(Self.number(header, 8))
    guard (512...65536).contains(pageByteCount), pageByteCount.nonzeroBitCount == 1 else { return }
    add(header[..<24])
    guard sums == (Self.number(header, 24), Self.number(header, 28)) else { return }
    isReadable = true
    var counts = true
    // Frames with other salts: of an earlier round, unless one of this round comes behind them.
    var pendingCount = 0
    while true {
      let frame = try bytes(Self.frameHeaderByteCount + pageByteCount)
      if frame.isEmpty { break }
      // One that is cut off in front of its salts may be of this round.
      guard frame.count < 16 || frame[8..<16] == header[16..<24] else {
        counts = false
        pendingCount += 1
        continue
      }
      lostFrameCount += pendingCount
      pendingCount = 0
      if counts, frame.count == Self.frameHeaderByteCount + pageByteCount {
        add(frame[..<8])
        add(frame[Self.frameHeaderByteCount...])
        counts = sums == (Self.number(frame, 16), Self.number(frame, 20))
      } else {
        counts = false
      }
      // A frame with the size of the database ends a commit.
      lostFrameCount = counts && Self.number(frame, 4) != 0 ? 0 : lostFrameCount + 1
    }
  }

  private mutating func add(_ bytes: ArraySlice<UInt8>) {
    var offset = bytes.startIndex
    while offset < bytes.endIndex {
      for isSecond in [false, true] {
        let word = bytes[offset..<offset + 4]
        let value = (isBigEndian ? Array(word) : word.reversed()).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        if isSecond { sums.1 &+= value &+ sums.0 } else { sums.0 &+= value &+ sums.1 }
        offset += 4
      }
    }
  }

  private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
