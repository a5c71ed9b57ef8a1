package enum XXH3 { package static func hash(_ bytes: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
  var h = seed; for i in 0..<count { h = (h ^ UInt64(bytes.load(fromByteOffset: i, as: UInt8.self))) &* 0x9E3779B97F4A7C15; h ^= h >> 29 }; return h } }
