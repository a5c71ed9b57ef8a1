// Meta pages with right checksums, whatever they say.

internal import QuireStorage

extension Forger {
  /// Makes the checksums of both meta pages right, as far as the bytes reach; nothing else of them is looked at.
  package static func resealMetaPages(_ bytes: inout [UInt8], pageSize: Int) {
    for slot in 0..<2 where (slot * pageSize + MetaPage.byteCount) <= bytes.count {
      let (start, seed) = (slot * pageSize, MetaPage.magic + UInt64(slot))
      bytes.withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress.map({ $0 + start }) else { return }
        let checksum = XXH3.hash(UnsafeRawPointer(base + 16), count: MetaPage.byteCount - 16, seed: seed)
        base.storeBytes(of: checksum, toByteOffset: 8, as: UInt64.self)
      }
    }
  }
}
