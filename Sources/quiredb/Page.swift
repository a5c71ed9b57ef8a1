// quiredb page: one page, field by field.

import ArgumentParser
import QuireStorage

/// Prints the header and the entries of a page.
struct Page: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Shows the header and the entries of one page.")

  @OptionGroup var database: DatabaseArgument
  @Argument(help: "The number of the page, from 0.") var number: UInt64
  @Flag(help: "Prints the page's bytes in hexadecimal as well.") var bytes = false

  func run() throws {
    let inspector = try database.inspect()
    try describing {
      let raw = try inspector.page(PageNumber(number))
      if number < 2 {
        print("page \(number) is a meta page; see quiredb info")
      } else {
        describe(raw)
        if raw.defect != nil { try describeExtent(inspector) }
      }
      if bytes { dump(raw.bytes) }
    }
  }

  private func describe(_ raw: Inspector.RawPage) {
    raw.bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      let page = PageBytes(UnsafeMutableRawPointer(mutating: base))
      printHeader(page, raw)
      // Only a page that verifies can be taken apart safely.
      guard raw.defect == nil else { return }
      switch PageKind(rawValue: page.kind) {
      case .leaf: printLeaf(page)
      case .branch: printBranch(page)
      case .freeMapLeaf: printBits(buffer)
      case .freeMapBranch: printMapChildren(buffer)
      case nil: break
      }
    }
  }

  private func printHeader(_ page: PageBytes, _ raw: Inspector.RawPage) {
    let verdict = page.checksum == raw.computedChecksum ? "correct" : "should be \(hexadecimal(raw.computedChecksum))"
    print("checksum      \(hexadecimal(page.checksum)), \(verdict)")
    print("page number   \(page.pageNumber)")
    print("birth         \(CSN(page.birth))")
    print("tree          \(page.treeID)")
    print("kind          \(PageKind(rawValue: page.kind).map { "\($0)" } ?? "unknown: \(page.kind)")")
    print("level         \(page.level)")
    print("keys          \(KeyKind(rawValue: page.keyKind).map { "\($0)" } ?? "unknown: \(page.keyKind)")")
    print("entries       \(page.count)")
    print("prefix        \(page.prefixCount) bytes at \(page.prefixOffset)")
    print("cells         from \(page.cellStart), \(page.garbage) bytes of garbage")
    if let defect = raw.defect { print("damaged       \(defect)") }
  }

  /// Pages of long values have no headers; who they belong to is known from the leaves alone.
  private func describeExtent(_ inspector: Inspector) throws {
    guard let (tree, extent) = try inspector.extent(at: PageNumber(number)) else { return }
    print("extent        it has no header: it is part of a value of \(tree), \(text(extent))")
  }

  private func text(_ extent: ExtentReference) -> String {
    "\(extent.valueByteCount) bytes in an extent from \(extent.first) on, written by \(CSN(extent.birth))"
  }

  private func prefix(_ page: PageBytes) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: page.prefix, count: page.prefixCount))
  }

  private func printLeaf(_ page: PageBytes) {
    for index in 0..<page.count {
      let cell = page.leafCell(index)
      let key =
        page.hasIntegerKeys
        ? "\(KeyOrder.key(page.heads64[index]))"
        : readable(page.leafKeyBytes(index))
      let bytes = [UInt8](UnsafeRawBufferPointer(start: cell.value, count: cell.valueCount))
      let value = cell.isExtent ? text(cell.extent) : hexadecimalBytes(bytes)
      print("\(aligned(index, 6))  \(key) = \(value)")
    }
  }

  private func printBranch(_ page: PageBytes) {
    for index in 0..<page.count {
      var separator = "-"
      if index > 0 {
        separator =
          page.hasIntegerKeys
          ? "\(KeyOrder.key(page.heads64[index]))" : readable(prefix(page) + page.separator(index))
      }
      print(
        "\(aligned(index, 6))  page \(page.references[index]), checksum \(hexadecimal(page.checksums[index])), "
          + "\(ChildCount.count(page.counts[index])) entries"
          + "\(ChildCount.mayHaveExtents(page.counts[index]) ? " with extents" : ""), from \(separator)")
    }
  }

  private func printBits(_ bytes: UnsafeRawBufferPointer) {
    let free = bytes.dropFirst(PageLayout.headerByteCount).reduce(0) { $0 + $1.nonzeroBitCount }
    print("free          \(free) of the pages that this piece speaks for")
  }

  private func printMapChildren(_ bytes: UnsafeRawBufferPointer) {
    var offset = PageLayout.headerByteCount
    var index = 0
    while offset + FreeMapFormat.childByteCount <= bytes.count {
      let number = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let checksum = bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
      if number != 0 { print("\(aligned(index, 6))  page \(number), checksum \(hexadecimal(checksum))") }
      offset += FreeMapFormat.childByteCount
      index += 1
    }
  }

  private func dump(_ bytes: [UInt8]) {
    for start in stride(from: 0, to: bytes.count, by: 32) {
      print("\(aligned(start, 6))  \(hexadecimalBytes(bytes[start..<min(start + 32, bytes.count)]))")
    }
  }
}
