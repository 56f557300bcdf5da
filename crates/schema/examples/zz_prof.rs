//! temp
use kubewright_schema::*;
fn main(){
 let text=std::fs::read("/tmp/dep.json").unwrap();
 let ty=kubewright_catalog::resource("apps","v1","deployments").unwrap().ty;
 let m=std::env::args().nth(1).unwrap();
 for _ in 0..40000 { match m.as_str() {
  "parse"=>{std::hint::black_box(parse_json(&text).unwrap());}
  "serde"=>{std::hint::black_box(serde_json::from_slice::<serde_json::Value>(&text).unwrap());}
  _=>{let n=parse_json(&text).unwrap(); std::hint::black_box(decode_typed(n,ty).unwrap());} } }
}
